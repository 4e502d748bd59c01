"""The tasks of pretraining on plain texts: an encoder to predict masked tokens, an encoder-decoder to restore texts."""

import dataclasses
import functools

import numpy as np

from zoo.config import ModelConfig, Recipe
from zoo.config_values import to_dict
from zoo.corpora.denoising import DenoisingCorpus, Noise, encode_texts
from zoo.corpora.inspection import inspect_reader
from zoo.corpora.labelled_corpus import LabelledCorpus
from zoo.corpora.prepared_corpus import PreparedCorpus, check_sides, prepared_vocabulary
from zoo.pretraining.denoiser import Denoiser
from zoo.pretraining.predictor import MaskedEncoder, encode_rows
from zoo.reports.outcomes import Outcomes, Shown
from zoo.serving.predictor import Predictor
from zoo.storage.checkpoints import Checkpoint
from zoo.training import fine_tuning
from zoo.training.scores import SEED, bootstrap_scores
from zoo.training.tasks import NOT_TEXT, Evaluation, Task, TrainingData

_SENTINELS = 100  # As in T5.
_FREQUENT = 10  # Masked places of a piece that a report counts.


class Pretraining(Task):
    """Trains and evaluates encoders. Corpora are iterables of texts, such as readers of `zoo.corpora.plain_texts`.

    `initial` of the other tasks' `train` takes the checkpoints. Texts of more than `max_tokens` tokens are split into
    several rows.
    """

    predictor_class = MaskedEncoder
    scores = {"accuracy": "masked accuracy", "loss": "loss"}
    unused = (*Task.unused, "token_dropout")

    def read(self, recipe, train, dev, log):
        check_sides(train, ("text",))
        texts, count = [*dev], len(train) if isinstance(train, PreparedCorpus) else sum(1 for _ in train)
        for corpus, name in ((train, "train"), (dev, "dev")):
            inspect_reader(corpus, name, log)
        if not (texts and count):
            raise ValueError(
                "There must be training texts, and dev texts to select the best checkpoint. Received: none in one of "
                "the corpora. Check the files."
            )
        return TrainingData(train, texts, lambda: train)

    def given_vocabulary(self, train, tokenizer):
        return prepared_vocabulary(train, tokenizer)

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
        outcomes = functools.partial(_piece_outcomes, predictor.tokenizer.pieces, gold, predicted)
        return Evaluation(scores, gold, predicted, -float(log_probabilities.mean()), outcomes)


class Denoising(Pretraining):
    """Trains and evaluates encoder-decoders that restore texts, which translators start from.

    `initial` must be such a model, or a translator. A vocabulary learned from the corpus has sentinels if the objective
    needs them.
    """

    predictor_class = Denoiser
    scores = {"loss": "loss"}
    unused = ("augment", "placeholders", *NOT_TEXT, "token_dropout", "frozen_layers", "layer_decay", "lora_rank")

    def check(self, recipe, initial):
        super().check(recipe, initial)
        if recipe.training.denoising.objective == "none":
            raise ValueError(
                "An encoder-decoder is pretrained by denoising. Received: denoising.objective=none. Choose spans or "
                "infilling."
            )
        if recipe.training.max_tokens < 2:
            raise ValueError(
                f"`max_tokens` must be at least 2, for a token and the end token. Received: "
                f"max_tokens={recipe.training.max_tokens}. Raise it."
            )
        if initial is not None and not fine_tuning.shares_all_weights(initial, Denoiser):
            raise ValueError(
                "`initial` must be an encoder-decoder that was pretrained by denoising, or a translator. Received: "
                f"{type(initial).__name__}. Load another one."
            )

    def read(self, recipe, train, dev, log):
        sentinels = _SENTINELS if recipe.training.denoising.objective == "spans" else 0
        return super().read(recipe, train, dev, log)._replace(vocabulary={"sentinels": sentinels})

    def model_config(self, run):
        config = fine_tuning.copy_config(run.initial, run.config, ModelConfig)
        return dataclasses.replace(config, vocabulary_size=run.vocabulary.vocabulary_size)

    def make_predictor(self, model, card, run):
        return Denoiser(model, run.vocabulary, to_dict(run.settings.denoising), card, run.max_tokens)

    def encode(self, run, tokenizer):
        train, sentences = run.data.train, run.settings.denoising.permute_sentences
        texts = encode_texts(train, tokenizer, run.max_tokens, sentences)
        run.log(f"train: {len(texts):,} rows of {texts.tokens.ids.size:,} tokens; {getattr(train, 'report', '')}")
        return texts

    def with_noise(self, corpus, run):
        noise = Noise(run.settings.denoising, run.vocabulary)
        return DenoisingCorpus(super().with_noise(corpus, run), noise, run.settings.seed)

    def change_batches(self, batches, step, run):
        return batches

    def score(self, predictor, examples, resamples=0, progress=None):
        """Computes loss and perplexity per token of the targets, end tokens included; the bootstrap resamples rows.

        Each call makes the same noise.
        """
        corpus = predictor.corrupted(examples, SEED)
        if not len(corpus):
            raise ValueError("There must be at least one text to evaluate on. Received: none. Check the file.")
        nats, tokens = predictor.losses(corpus)

        def values(rows):
            loss = nats[rows].sum() / tokens[rows].sum()
            return [loss, np.exp(loss)]

        signature = f"tokens:{tokens.sum()}|{predictor.denoising['objective']}:{predictor.denoising['rate']:.0%}"
        scores = bootstrap_scores(dict.fromkeys(("nats/token", "perplexity"), signature), values, len(nats), resamples)
        outcomes = functools.partial(_row_outcomes, predictor.tokenizer, corpus, nats, tokens)
        return Evaluation(scores, None, None, float(nats.sum() / tokens.sum()), outcomes)


def _piece_outcomes(pieces, gold, predicted):
    """Returns how often each frequent piece was predicted where it was masked, and what else was."""
    counts = np.bincount(gold)
    frequent = np.flatnonzero(counts >= min(_FREQUENT, counts.max()))
    right = np.bincount(gold[gold == predicted], minlength=len(counts))

    def show(number):
        piece = frequent[number]
        found = np.bincount(predicted[gold == piece]).argmax()
        return Shown(f"{counts[piece]:,} masked places", repr(pieces[piece]), f"most often {pieces[found]!r}")

    return Outcomes("% of the places of a piece", 100 * right[frequent] / counts[frequent], show)


def _row_outcomes(tokenizer, corpus, nats, tokens):
    """Returns the mean log-probability of the targets of each row."""

    def show(number):
        source, target = tokenizer.decode([side.row(number).tolist() for side in (corpus.source, corpus.target)])
        return Shown(source, target, "")

    return Outcomes("log-probability of a token", -nats / tokens, show, np.asarray(tokens), "tokens")


def _task(denoising: bool) -> Pretraining:
    return Denoising() if denoising else Pretraining()


def train(recipe: Recipe, *arguments, **options) -> MaskedEncoder | Denoiser:
    """Trains an encoder or, if the model of the recipe is a `ModelConfig`, an encoder-decoder; see `Task.train`."""
    return _task(isinstance(recipe.model, ModelConfig)).train(recipe, *arguments, **options)


def from_checkpoint(checkpoint: Checkpoint, dtype: str | None = None) -> MaskedEncoder | Denoiser:
    """Restores the predictor of a checkpoint."""
    return _task("denoising" in checkpoint.settings).from_checkpoint(checkpoint, dtype)


def evaluate(predictor: Predictor, *arguments, **options) -> Evaluation:
    """Scores an encoder or an encoder-decoder on texts; see `Task.evaluate`."""
    return _task(isinstance(predictor, Denoiser)).evaluate(predictor, *arguments, **options)
