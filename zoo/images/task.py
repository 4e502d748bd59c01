"""The task of classifying images."""

import dataclasses
import functools

import numpy as np

from zoo.classification.metrics import classification_scores
from zoo.corpora.image_rows import ChangedImages, ImageRows
from zoo.corpora.inspection import inspect_reader
from zoo.corpora.stacked_images import stack_images
from zoo.images.decoding import fit_image
from zoo.images.predictor import ImagePredictor
from zoo.reports.outcomes import Classes, Outcomes, Shown
from zoo.serving.calibration import fit_temperature
from zoo.text.checks import numbers_of
from zoo.training.tasks import Evaluation, Task, TrainingData

_TEXT = "lowercase", "case_markup", "split_digits", "pieces", "subword_dropout", "token_dropout"
_ENCODER = "frozen_layers", "layer_decay", "lora_rank", "r_drop"


class ImageClassification(Task):
    """Trains and evaluates classifiers of images. Corpora are readers of `zoo.images.data`.

    The training corpus determines the classes. Examples are (numbers of the classes, images as the model reads them).
    """

    predictor_class = ImagePredictor
    scores = {"accuracy": "accuracy", "macro_f1": "macro F1", "loss": "loss"}
    unused = ("augment", "placeholders", "denoising", "box_augment", "sound_augment", *_TEXT, *_ENCODER)

    def read(self, recipe, train, dev, log):
        size = recipe.model.image_size
        names, images = _read(train, size)
        inspect_reader(train, "train", log)
        labels = sorted({*names} if getattr(train, "names", None) is None else {*train.names})
        if len(labels) < 2:
            raise ValueError(
                f"There must be at least two classes. Received: {len(labels)} ({', '.join(labels)}). The corpus needs "
                "one folder for each class: CLASS/FILE."
            )
        log(f"{train.report}; {len(labels)} classes: {', '.join(labels[:20])}")
        dev_names, dev_images = _read(dev, size)
        inspect_reader(dev, "dev", log)
        log(f"dev: {dev.report}")
        if not dev_names:
            raise ValueError("The dev corpus must have images to select the best checkpoint. Received: no image.")
        return TrainingData(
            (np.array(numbers_of(names, labels), "int32"), images),
            (np.array(numbers_of(dev_names, labels, "class of the dev corpus"), "int32"), dev_images),
            texts=tuple,
            sizes={"num_classes": len(labels)},
            arguments={"labels": labels},
        )

    def model_config(self, run):
        given = run.config if run.initial is None else run.initial.model.config
        rates = {name: getattr(run.config, name) for name in ("dropout", "attention_dropout", "activation_dropout")}
        return dataclasses.replace(given, **rates, **run.data.sizes)

    def check(self, recipe, initial):
        super().check(recipe, initial)
        if initial is not None and not isinstance(initial, ImagePredictor):
            raise ValueError(
                f"`initial` must be a classifier of images. Received: {type(initial).__name__}. Load another model."
            )
        if initial is not None and initial.model.config.image_size != recipe.model.image_size:
            raise ValueError(
                f"The images must have the size of those of the initial model, {initial.model.config.image_size}. "
                f"Received: model.image_size={recipe.model.image_size}. Change it."
            )

    def encode(self, run, tokenizer):
        classes, images = run.data.train
        return ImageRows(images, classes)

    def with_noise(self, corpus, run):
        changes = run.settings.image_augment
        return ChangedImages(corpus, changes, run.settings.seed) if changes else corpus

    def make_predictor(self, model, card, run):
        return self.predictor_class(model, card=card, **run.data.arguments)

    def examples(self, predictor, data):
        names, images = _read(data, predictor.model.config.image_size)
        inspect_reader(data, "corpus")
        if not names:
            raise ValueError(f"There must be at least one image to evaluate on. Received: {data.report}.")
        return np.array(numbers_of(names, predictor.labels, "class"), "int32"), images

    def score(self, predictor, examples, resamples=0, progress=None):
        """Computes accuracy, macro F1 and calibration error; `predicted` are probabilities `[N, C]`."""
        classes, images = examples
        probabilities = predictor.probabilities(images, progress)
        gold = np.take_along_axis(probabilities, classes[:, None], 1)
        loss = float(-np.log(np.maximum(gold, 1e-30)).mean())
        scores = classification_scores(classes, probabilities, resamples)
        outcomes = functools.partial(_outcomes, predictor.labels, classes, images, probabilities)
        return Evaluation(scores, classes, probabilities, loss, outcomes)

    def calibrate(self, predictor, run):
        found = self.score(predictor, run.data.dev)
        predictor.temperature = fit_temperature(found.gold, found.predicted, predictor.temperature)


def _outcomes(labels, classes, images, probabilities):
    found = probabilities.argmax(1)
    return Outcomes(
        "probability of the right class",
        np.take_along_axis(probabilities, classes[:, None], 1)[:, 0],
        lambda i: Shown(images[i], labels[classes[i]], f"{labels[found[i]]} ({probabilities[i].max():.2f})"),
        classes=Classes.of(labels, classes, probabilities),
    )


def _read(reader, size):
    """Returns the classes of images, and the images at the size of the model, uint8 `[N, H, W, 3]`."""
    names = []

    def fitted():
        for example in reader:
            names.append(example.label)
            yield fit_image(example.image, size, size)

    return names, stack_images(fitted(), (size, size, 3))


_task = ImageClassification()
train, evaluate, from_checkpoint = _task.train, _task.evaluate, _task.from_checkpoint
