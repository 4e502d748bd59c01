"""The task of pretraining an encoder to predict masked tokens of plain texts."""

import numpy as np

from zoo.corpora.inspection import inspect_reader
from zoo.corpora.labelled_corpus import LabelledCorpus, frame_rows
from zoo.corpora.token_rows import TokenRows
from zoo.pretraining.predictor import MaskedEncoder
from zoo.text.vocabularies import Vocabulary
from zoo.training.scores import SEED, bootstrap_scores
from zoo.training.tasks import Evaluation, Task, TrainingData


class Pretraining(Task):
    """Trains and evaluates encoders. Corpora are iterables of texts, such as readers of `zoo.pretraining.data`.

    `initial` of the other tasks' `train` takes the checkpoints. Texts of more than `max_tokens` tokens are split into
    several rows.
    """

    predictor_class = MaskedEncoder
    scores = {"accuracy": "masked accuracy", "loss": "loss"}
    unused = ("token_dropout",)

    def read(self, recipe, train, dev, log):
        counts = [sum(1 for _ in corpus) for corpus in (train, dev)]
        for corpus, name in ((train, "train"), (dev, "dev")):
            inspect_reader(corpus, name, log)
        if not all(counts):
            raise ValueError(
                "There must be training texts, and dev texts to select the best checkpoint. Received: none in one of "
                "the corpora. Check the files."
            )
        return TrainingData(train, dev, lambda: train)

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


def encode_rows(texts, tokenizer: Vocabulary, max_tokens: int) -> TokenRows:
    """Encodes texts as rows of at most `max_tokens` tokens, special tokens included; long texts get several rows."""
    room = max_tokens - 2
    parts = [[ids[i : i + room]] for ids in tokenizer.encode([*texts]) for i in range(0, len(ids), room)]
    return frame_rows(parts, tokenizer.start_id, tokenizer.end_id, max_tokens)[0]


_task = Pretraining()
train, evaluate, from_checkpoint = _task.train, _task.evaluate, _task.from_checkpoint
