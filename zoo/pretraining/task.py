"""The task of pretraining an encoder to predict masked tokens of plain texts."""

import numpy as np

from zoo.corpora.inspection import inspect_reader
from zoo.corpora.labelled_corpus import LabelledCorpus
from zoo.pretraining.predictor import MaskedEncoder, encode_rows
from zoo.training.scores import SEED, bootstrap_scores
from zoo.training.tasks import Evaluation, Task, TrainingData


class Pretraining(Task):
    """Trains and evaluates encoders. Corpora are iterables of texts, such as readers of `zoo.corpora.plain_texts`.

    `initial` of the other tasks' `train` takes the checkpoints. Texts of more than `max_tokens` tokens are split into
    several rows.
    """

    predictor_class = MaskedEncoder
    scores = {"accuracy": "masked accuracy", "loss": "loss"}
    unused = ("augment", "placeholders", "token_dropout")

    def read(self, recipe, train, dev, log):
        texts, count = [*dev], sum(1 for _ in train)
        for corpus, name in ((train, "train"), (dev, "dev")):
            inspect_reader(corpus, name, log)
        if not (texts and count):
            raise ValueError(
                "There must be training texts, and dev texts to select the best checkpoint. Received: none in one of "
                "the corpora. Check the files."
            )
        return TrainingData(train, texts, lambda: train)

    def encode(self, run, tokenizer):
        rows, train = encode_rows(run.data.train, tokenizer, run.max_tokens), run.data.train
        run.log(f"train: {len(rows.lengths):,} rows of {rows.ids.size:,} tokens; {getattr(train, 'report', '')}")
        return LabelledCorpus(rows)

    def change_batches(self, batches, step, run):
        from zoo.tf.masking import MaskedBatches, TokenMasker

        return MaskedBatches(batches, TokenMasker(run.vocabulary, run.settings.seed), step)

    def examples(self, predictor, data):
        return data

    def score(self, predictor, examples, resamples=0, progress=None):
        """Computes accuracy and perplexity of masked tokens, and the accuracy of predicting the most frequent token.

        Each call masks the same tokens. The bootstrap resamples tokens.
        """
        from zoo.tf.masking import TokenMasker

        rows = encode_rows(examples, predictor.tokenizer, predictor.max_tokens)
        if not len(rows.lengths):
            raise ValueError("There must be at least one text to evaluate on. Received: none. Check the file.")
        gold, predicted, log_probabilities = predictor.predict_masked(rows, TokenMasker(predictor.tokenizer, SEED))
        correct, constant = 100.0 * (gold == predicted), 100.0 * (gold == np.bincount(gold).argmax())

        def values(rows):
            return [correct[rows].mean(), np.exp(-log_probabilities[rows].mean()), constant[rows].mean()]

        metrics = "masked accuracy", "perplexity", "accuracy of the most frequent token"
        signatures = dict.fromkeys(metrics, f"tokens:{gold.size}|masked:15%")
        scores = bootstrap_scores(signatures, values, gold.size, resamples)
        return Evaluation(scores, gold, predicted, -float(log_probabilities.mean()))


_task = Pretraining()
train, evaluate, from_checkpoint = _task.train, _task.evaluate, _task.from_checkpoint
