"""Training a classifier: corpus, vocabulary, model, loss and scores put together."""

import dataclasses
import functools
import pathlib
import typing
from collections.abc import Callable

import keras
import numpy as np

from zoo.classification.classifier import TextClassifier, encode_texts
from zoo.classification.data import ExampleReader, class_names, class_numbers
from zoo.classification.metrics import classification_scores, confusion_matrix
from zoo.classification.recipes import ClassifierRecipe
from zoo.conversion.from_bert import PretrainedEncoder
from zoo.corpora.labelled_corpus import LabelledCorpus
from zoo.distribution.current import workers_of
from zoo.models.classifier import Classifier
from zoo.serving.predictor import Predictor
from zoo.text.vocabularies import Vocabulary
from zoo.training.fine_tuning import with_encoder_of
from zoo.training.runs import check_settings, prepare_folder, run_vocabulary, train_predictor
from zoo.training.scores import Score

_SCORES = ("accuracy", "macro_f1", "loss")

__all__ = ["TextClassifier", "evaluate", "from_checkpoint", "train"]

from_checkpoint = TextClassifier.from_checkpoint


def train(
    recipe: ClassifierRecipe,
    train_examples: ExampleReader,
    dev_examples: ExampleReader,
    folder: str | pathlib.Path,
    card: dict | None = None,
    tokenizer: Vocabulary | None = None,
    initial: Predictor | PretrainedEncoder | None = None,
    log: Callable[[str], None] = print,
    strategy: typing.Any = None,
) -> TextClassifier:
    """Trains a classifier and writes it to `folder/checkpoint`; goes on where an earlier run in `folder` stopped.

    Args:
        recipe: What to train and how. The number of classes, and whether texts come in pairs, follow from the corpus;
            the vocabulary may become smaller.
        train_examples, dev_examples: Of `zoo.classification.data`.
        folder: New, empty, or begun by the same recipe.
        card: What the checkpoint shall say of itself.
        tokenizer: A vocabulary to use; by default one is learned from the training corpus.
        initial: What to fine-tune, such as `zoo.conversion.from_bert.load_bert` returns: its vocabulary and
            encoder, whose sizes take the place of the recipe's, and its head if it knows the same classes.
        log: Told what happens.
        strategy: A `tf.distribute` strategy whose devices share each batch; None for one device.

    Raises:
        ValueError: If `folder` holds anything else or was begun with another vocabulary or corpus, a corpus is empty
            or has one class only, or the dev corpus has a class that the training corpus has not.
    """
    settings, card = recipe.training, dict(card or {})
    check_settings(settings, _SCORES)
    names = class_names(train_examples)
    classes, texts = class_numbers(train_examples, names)
    log(f"{train_examples.report}; classes: {_counts(classes, names)}")
    dev_classes, dev_texts = class_numbers(dev_examples, names)
    log(f"dev: {dev_examples.report}; classes: {_counts(dev_classes, names)}")
    if not dev_texts:
        raise ValueError("The dev corpus has no example. It decides which checkpoint is kept: give one.")
    flat = lambda: (text for parts in texts for text in parts)  # noqa: E731
    workers = workers_of(strategy)
    folder = prepare_folder(folder, recipe, workers)
    tokenizer = initial.tokenizer if initial else tokenizer
    vocabulary = run_vocabulary(folder, tokenizer, flat, recipe, workers)
    pairs = len(texts[0]) == 2
    config = with_encoder_of(initial, recipe.model)
    sizes = {"vocabulary_size": vocabulary.vocabulary_size, "num_classes": len(names), "num_texts": 1 + pairs}
    config = dataclasses.replace(config, **sizes, num_segments=max(config.num_segments, 2 * pairs))
    longest = min(settings.max_tokens, config.max_positions or settings.max_tokens)
    singles = texts if pairs else [text for (text,) in texts]

    def encode(tokenizer):
        tokens, segments, cut = encode_texts(singles, tokenizer, pairs, longest)
        if len(cut) and tokenizer is vocabulary:
            log(f"{len(cut):,} texts of more than {longest} tokens were cut")
        return LabelledCorpus(tokens, np.array(classes, "int32"), {"segment_ids": segments} if pairs else {})

    return train_predictor(
        lambda model, card: TextClassifier(model, vocabulary, names, card, longest),
        functools.partial(Classifier, config),
        lambda classifier: DevSet(dev_classes, dev_texts, classifier, settings.score),
        encode,
        recipe,
        folder,
        card,
        log,
        strategy,
        initial,
    )


def evaluate(
    classifier: TextClassifier,
    examples: ExampleReader,
    resamples: int = 1000,
    progress: Callable[[int], None] | None = None,
) -> tuple[list[Score], np.ndarray]:
    """Accuracy, macro F1 and calibration error with bootstrap intervals, and the confusion matrix.

    Raises:
        ValueError: If there is no example, or one of a class that the classifier does not know.
    """
    classes, texts = class_numbers(examples, classifier.labels)
    if not texts:
        raise ValueError(f"There must be at least one example to evaluate on. Received: {examples.report}.")
    return _scores(classes, _probabilities(classifier, texts, progress), resamples)


class DevSet:
    """A look at the dev set: its loss, accuracy and macro F1."""

    def __init__(self, classes, texts, classifier: TextClassifier, score: str):
        self._classes, self._texts = np.array(classes), texts
        self._classifier, self._score = classifier, score

    def __call__(self, model: keras.Model) -> dict[str, float]:
        """`dev_loss`, `dev_accuracy`, `dev_macro_f1` and `score`, higher being better."""
        probabilities = _probabilities(self._classifier, self._texts)
        gold = np.take_along_axis(probabilities, self._classes[:, None], 1)
        (accuracy, macro_f1, _), _ = _scores(self._classes, probabilities, 0)
        figures = {
            "dev_loss": float(-np.log(np.maximum(gold, 1e-30)).mean()),
            "dev_accuracy": accuracy.value,
            "dev_macro_f1": macro_f1.value,
        }
        chosen = {"accuracy": accuracy.value, "macro_f1": macro_f1.value, "loss": -figures["dev_loss"]}
        return {**figures, "score": chosen[self._score]}

    def scores(self, classifier: TextClassifier, resamples: int) -> list[Score]:
        """The scores of a classifier on the dev set."""
        return _scores(self._classes, _probabilities(classifier, self._texts), resamples)[0]


def _probabilities(classifier, texts, progress=None):
    pairs = classifier.model.config.num_texts > 1
    return classifier.probabilities(texts if pairs else [text for (text,) in texts], progress)


def _scores(classes, probabilities, resamples):
    matrix = confusion_matrix(np.array(classes), probabilities.argmax(1), probabilities.shape[1])
    return classification_scores(classes, probabilities, resamples), matrix


def _counts(classes, names):
    counts = np.bincount(classes, minlength=len(names))
    return ", ".join(f"{name} {count:,}" for name, count in zip(names, counts))
