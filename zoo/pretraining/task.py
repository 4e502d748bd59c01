"""Pretraining an encoder on plain texts: corpus, vocabulary, masks, model and scores put together."""

import dataclasses
import functools
import pathlib
import typing
from collections.abc import Callable, Iterable

import keras
import numpy as np

from zoo.conversion.from_bert import PretrainedEncoder
from zoo.corpora.labelled_corpus import LabelledCorpus, framed_rows
from zoo.corpora.token_rows import TokenRows
from zoo.distribution.current import workers_of
from zoo.models.masked_language_model import MaskedLanguageModel
from zoo.pretraining.encoder import MaskedEncoder
from zoo.pretraining.recipes import EncoderRecipe
from zoo.text.vocabularies import Vocabulary
from zoo.training.fine_tuning import with_encoder_of
from zoo.training.runs import check_settings, prepare_folder, run_vocabulary, train_predictor
from zoo.training.scores import Score

_DEV_SEED = 12345

__all__ = ["MaskedEncoder", "evaluate", "from_checkpoint", "train"]

from_checkpoint = MaskedEncoder.from_checkpoint


def train(
    recipe: EncoderRecipe,
    train_texts: Iterable[str],
    dev_texts: Iterable[str],
    folder: str | pathlib.Path,
    card: dict | None = None,
    tokenizer: Vocabulary | None = None,
    initial: PretrainedEncoder | None = None,
    log: Callable[[str], None] = print,
    strategy: typing.Any = None,
) -> MaskedEncoder:
    """Pretrains an encoder and writes it to `folder/checkpoint`; goes on where an earlier run in `folder` stopped.

    The checkpoint is what `initial` of the other tasks' `train` takes. Long texts are cut into rows of `max_tokens`.

    Args:
        recipe: What to train and how. The vocabulary may become smaller.
        train_texts, dev_texts: Such as the readers of `zoo.pretraining.data`.
        folder: New, empty, or begun by the same recipe.
        card: What the checkpoint shall say of itself.
        tokenizer: A vocabulary to use; by default one is learned from the training texts.
        initial: What to go on with, such as a BERT of `zoo.conversion.from_bert.load_bert` on texts of another field.
        log: Told what happens.
        strategy: A `tf.distribute` strategy whose devices share each batch; None for one device.

    Raises:
        ValueError: If `folder` holds anything else or was begun with another vocabulary or corpus, or there is no text.
    """
    from zoo.tf.masking import MaskedBatches, TokenMasker

    settings = recipe.training
    check_settings(settings, ("accuracy", "loss"), unused=["token_dropout"])
    workers = workers_of(strategy)
    folder = prepare_folder(folder, recipe, workers)
    tokenizer = initial.tokenizer if initial else tokenizer
    vocabulary = run_vocabulary(folder, tokenizer, lambda: train_texts, recipe, workers)
    config = dataclasses.replace(with_encoder_of(initial, recipe.model), vocabulary_size=vocabulary.vocabulary_size)
    longest = min(settings.max_tokens, config.max_positions or settings.max_tokens)
    rows, dev_rows = (encode_rows(texts, vocabulary, longest) for texts in (train_texts, dev_texts))
    for name, side, texts in (("train", rows, train_texts), ("dev", dev_rows, dev_texts)):
        log(f"{name}: {len(side.lengths):,} rows of {side.ids.size:,} tokens; {getattr(texts, 'report', '')}")
    if not len(rows.lengths) or not len(dev_rows.lengths):
        raise ValueError("There must be texts to learn from, and dev texts, which decide which checkpoint is kept.")
    return train_predictor(
        lambda model, card: MaskedEncoder(model, vocabulary, longest, card),
        functools.partial(MaskedLanguageModel, config),
        lambda encoder: DevSet(dev_rows, encoder, settings.score),
        lambda tokenizer: LabelledCorpus(
            rows if tokenizer is vocabulary else encode_rows(train_texts, tokenizer, longest)
        ),
        recipe,
        folder,
        dict(card or {}),
        log,
        strategy,
        initial,
        lambda batches, start: MaskedBatches(batches, TokenMasker(vocabulary, settings.seed), start),
    )


def evaluate(encoder: MaskedEncoder, texts: Iterable[str], resamples: int = 1000) -> list[Score]:
    """How many masked tokens are guessed right, the perplexity, and how many a constant guess would get right.

    With bootstrap intervals over tokens.
    """
    rows = encode_rows(texts, encoder.tokenizer, encoder.max_tokens)
    if not len(rows.lengths):
        raise ValueError("There must be at least one text to evaluate on. Received: none.")
    return _scores(*_guesses(encoder, rows), resamples)


def encode_rows(texts: Iterable[str], tokenizer: Vocabulary, max_tokens: int) -> TokenRows:
    """Texts as rows of at most `max_tokens` tokens, special ones included; nothing is left out."""
    room = max_tokens - 2
    parts = [[ids[i : i + room]] for ids in tokenizer.encode([*texts]) for i in range(0, len(ids), room)]
    return framed_rows(parts, tokenizer.start_id, tokenizer.end_id, max_tokens)[0]


class DevSet:
    """A look at the dev texts, the same tokens masked at each: loss and accuracy."""

    def __init__(self, rows: TokenRows, encoder: MaskedEncoder, score: str):
        self._rows, self._encoder, self._score = rows, encoder, score

    def __call__(self, model: keras.Model) -> dict[str, float]:
        """`dev_loss`, `dev_accuracy` and `score`, higher being better."""
        gold, guessed, log_probabilities = _guesses(self._encoder, self._rows)
        figures = {"dev_loss": -float(log_probabilities.mean()), "dev_accuracy": 100 * float(np.mean(gold == guessed))}
        return {**figures, "score": figures["dev_accuracy"] if self._score == "accuracy" else -figures["dev_loss"]}

    def scores(self, encoder: MaskedEncoder, resamples: int) -> list[Score]:
        """The scores of an encoder on the dev texts."""
        return _scores(*_guesses(encoder, self._rows), resamples)


def _guesses(encoder, rows):
    from zoo.tf.masking import TokenMasker

    return encoder.guesses(rows, TokenMasker(encoder.tokenizer, _DEV_SEED))


def _scores(gold, guessed, log_probabilities, resamples):
    right, generator = 100.0 * (gold == guessed), np.random.default_rng(_DEV_SEED)
    most_frequent = 100.0 * (gold == np.bincount(gold).argmax())
    samples = [generator.integers(0, gold.size, gold.size) for _ in range(resamples)]
    signature = f"tokens:{gold.size}|masked:15%" + (f"|bs:{resamples}|seed:{_DEV_SEED}" if resamples else "")
    figures = (
        ("masked accuracy", right, float),
        ("perplexity", -log_probabilities, np.exp),
        ("accuracy of the most frequent token", most_frequent, float),
    )
    scores = []
    for name, values, final in figures:
        means = [final(values[rows].mean()) for rows in samples]
        interval = float(np.ptp(np.quantile(means, [0.025, 0.975]))) / 2 if means else 0.0
        scores.append(Score(name, float(final(values.mean())), interval, signature))
    return scores
