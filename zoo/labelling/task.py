"""Training a tagger: corpus, vocabulary, model, loss and scores put together."""

import dataclasses
import functools
import pathlib
import typing
from collections.abc import Callable, Sequence

import keras
import numpy as np

from zoo.conversion.from_bert import PretrainedEncoder
from zoo.corpora.labelled_corpus import NO_LABEL, LabelledCorpus
from zoo.corpora.word_rows import window_characters, window_labels, windows
from zoo.distribution.current import workers_of
from zoo.labelling.data import Sentence, SentenceReader, label_names, label_numbers
from zoo.labelling.metrics import is_bio, labelling_scores
from zoo.labelling.recipes import TaggerRecipe
from zoo.labelling.tagger import WordTagger
from zoo.models.tagger import Tagger
from zoo.serving.predictor import Predictor
from zoo.text.vocabularies import Vocabulary
from zoo.training.fine_tuning import with_encoder_of
from zoo.training.runs import check_settings, prepare_folder, run_vocabulary, train_predictor
from zoo.training.scores import Score

_SCORES = ("accuracy", "span_f1", "loss")

__all__ = ["WordTagger", "evaluate", "from_checkpoint", "train"]

from_checkpoint = WordTagger.from_checkpoint


def train(
    recipe: TaggerRecipe,
    train_sentences: SentenceReader,
    dev_sentences: SentenceReader,
    folder: str | pathlib.Path,
    card: dict | None = None,
    tokenizer: Vocabulary | None = None,
    initial: Predictor | PretrainedEncoder | None = None,
    log: Callable[[str], None] = print,
    strategy: typing.Any = None,
    unknown_labels: str = "error",
) -> WordTagger:
    """Trains a tagger and writes it to `folder/checkpoint`; goes on where an earlier run in `folder` stopped.

    Args:
        recipe: What to train and how. The number of labels follows from the corpus; the vocabulary may become smaller.
        train_sentences, dev_sentences: Of `zoo.labelling.data`.
        folder: New, empty, or begun by the same recipe.
        card: What the checkpoint shall say of itself.
        tokenizer: A vocabulary to use; by default one is learned from the training corpus.
        initial: What to fine-tune, such as `zoo.conversion.from_bert.load_bert` returns: its vocabulary and
            encoder, whose sizes take the place of the recipe's, and its head if it knows the same labels.
        log: Told what happens.
        strategy: A `tf.distribute` strategy whose devices share each batch; None for one device.
        unknown_labels: What a label of the dev corpus is that the training corpus has not: an "error", or "wrong"
            whatever is predicted.

    Raises:
        ValueError: If `folder` holds anything else or was begun with another vocabulary or corpus, a corpus is empty,
            or the dev corpus has an unknown label.
    """
    settings = recipe.training
    check_settings(settings, _SCORES)
    names = label_names(train_sentences)
    if settings.score == "span_f1" and not is_bio(names):
        raise ValueError(f"The score span_f1 needs labels O, B-type and I-type. Received: {', '.join(names)}.")
    labels, sentences, _ = label_numbers(train_sentences, names)
    words = [sentence.words for sentence in sentences]
    log(f"{train_sentences.report}; {len(names)} labels")
    dev_labels, dev, notes = label_numbers(dev_sentences, names, unknown_labels)
    log(f"dev: {dev_sentences.report}" + (f"; {notes.count:,} unknown labels {notes}" if notes.count else ""))
    if not dev:
        raise ValueError("The dev corpus has no sentence. It decides which checkpoint is kept: give one.")
    workers = workers_of(strategy)
    folder = prepare_folder(folder, recipe, workers)
    tokenizer = initial.tokenizer if initial else tokenizer
    vocabulary = run_vocabulary(folder, tokenizer, lambda: map(" ".join, words), recipe, workers)
    sizes = {"vocabulary_size": vocabulary.vocabulary_size, "num_labels": len(names)}
    config = dataclasses.replace(with_encoder_of(initial, recipe.model), **sizes)
    longest = min(settings.max_tokens, config.max_positions or settings.max_tokens)

    def encode(tokenizer):
        tokens, places, owners = windows(words, tokenizer, longest)
        if len(owners) > len(words) and tokenizer is vocabulary:
            log(f"{len(owners) - len(words):,} more windows, as sentences have more than {longest} tokens")
        features = {"character_ids": window_characters(tokens, places, words)} if config.character_filters else {}
        return LabelledCorpus(tokens, window_labels(tokens, places, labels), features)

    return train_predictor(
        lambda model, card: WordTagger(model, vocabulary, names, card, longest),
        functools.partial(Tagger, config),
        lambda tagger: DevSet(dev_labels, dev, tagger, settings.score),
        encode,
        recipe,
        folder,
        dict(card or {}),
        log,
        strategy,
        initial,
    )


def evaluate(
    tagger: WordTagger,
    sentences: SentenceReader,
    resamples: int = 1000,
    progress: Callable[[int], None] | None = None,
    unknown_labels: str = "error",
) -> list[Score]:
    """Token accuracy and, for BIO labels, span F1, with bootstrap intervals.

    Args:
        tagger, sentences: What is scored, on what.
        resamples: Bootstrap samples of sentences for the intervals; 0 for none.
        progress: Called with the number of windows done since the last call.
        unknown_labels: What a label is that the tagger does not know: an "error", or "wrong" whatever is predicted.

    Raises:
        ValueError: If there is no sentence, or an unknown label.
    """
    _, found, _ = label_numbers(sentences, tagger.labels, unknown_labels)
    if not found:
        raise ValueError(f"There must be at least one sentence to evaluate on. Received: {sentences.report}.")
    words, gold = zip(*found)
    return labelling_scores(gold, tagger.tag(words, progress), tagger.labels, resamples)


class DevSet:
    """A look at the dev set: its loss, token accuracy and, for BIO labels, span F1."""

    def __init__(self, numbers, sentences: Sequence[Sentence], tagger: WordTagger, score: str):
        self._words, self._gold = zip(*sentences)
        self._tagger, self._score = tagger, score
        self._flat = np.concatenate([np.asarray(row) for row in numbers])

    def __call__(self, model: keras.Model) -> dict[str, float]:
        """`dev_loss`, `dev_accuracy`, for BIO labels `dev_span_f1`, and `score`, higher being better."""
        probabilities = self._tagger.probabilities(self._words)
        gold = np.take_along_axis(np.concatenate(probabilities), self._flat[:, None], 1)[self._flat != NO_LABEL]
        found = [[self._tagger.labels[i] for i in rows.argmax(-1)] for rows in probabilities]
        scores = labelling_scores(self._gold, found, self._tagger.labels)
        figures = {"dev_loss": float(-np.log(np.maximum(gold, 1e-30)).mean())}
        figures |= {f"dev_{score.metric.lower().replace(' ', '_')}": score.value for score in scores}
        return {**figures, "score": -figures["dev_loss"] if self._score == "loss" else figures[f"dev_{self._score}"]}

    def scores(self, tagger: WordTagger, resamples: int) -> list[Score]:
        """The scores of a tagger on the dev set."""
        return labelling_scores(self._gold, tagger.tag(self._words), tagger.labels, resamples)
