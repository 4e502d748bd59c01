"""The task of detecting objects."""

import dataclasses
import functools

import numpy as np

from zoo.corpora.box_rows import ChangedBoxes
from zoo.corpora.inspection import inspect_reader
from zoo.detection.loss import SetPredictionLoss
from zoo.detection.metrics import Found, best_min_score, detection_scores, objects_f1
from zoo.detection.picture import drawn_objects
from zoo.detection.predictor import Detection, ObjectDetector, encode_objects
from zoo.extras import require
from zoo.reports.outcomes import Outcomes, Shown
from zoo.text.checks import numbers_of
from zoo.training.tasks import Evaluation, Task, TrainingData

_TEXT = "lowercase", "case_markup", "split_digits", "pieces", "subword_dropout", "token_dropout"
_NOISE = "augment", "placeholders", "denoising", "image_augment", "sound_augment"
_ENCODER = "frozen_layers", "layer_decay", "lora_rank", "r_drop"


class ObjectDetection(Task):
    """Trains and evaluates detectors of objects. Corpora are readers of `zoo.detection.data`.

    The training corpus determines the classes. Examples are (images uint8 `[H, W, 3]`, known objects as `Found`).
    """

    predictor_class = ObjectDetector
    scores = {"ap50": "AP50", "ap": "AP", "exact_sets": "exact sets"}
    unused = (*_NOISE, "label_smoothing", *_TEXT, *_ENCODER)

    def check(self, recipe, initial):
        super().check(recipe, initial)
        require("Matching objects", "scipy")
        require("Average precision", "pycocotools")
        if initial is not None and not isinstance(initial, ObjectDetector):
            raise ValueError(
                f"`initial` must be a detector of objects. Received: {type(initial).__name__}. Load another model."
            )
        sizes = "image_rows", "image_columns", "num_queries"
        for name in sizes if initial is not None else ():
            old, new = (getattr(config, name) for config in (initial.model.config, recipe.model))
            if old != new:
                raise ValueError(
                    f"The sizes must be those of the initial model: {name}={old}. Received: model.{name}={new}. "
                    "Change it."
                )

    def read(self, recipe, train, dev, log):
        config = recipe.model
        corpus, labels = encode_objects(((example.image, example.objects) for example in train), config)
        inspect_reader(train, "train", log)
        if not labels:
            raise ValueError(f"The training corpus must have objects. Received: {train.report}. Check its boxes.")
        log(f"{train.report}; {len(labels)} classes: {', '.join(labels[:20])}")
        most = corpus.classes.shape[1]
        if most > config.num_queries:
            raise ValueError(
                f"There must be as many queries as objects in an image, {most}. Received: model.num_queries="
                f"{config.num_queries}. Raise it."
            )
        dev_examples = _examples(dev, labels, "class of the dev corpus")
        inspect_reader(dev, "dev", log)
        log(f"dev: {dev.report}")
        if not dev_examples[0]:
            raise ValueError("The dev corpus must have images to select the best checkpoint. Received: no image.")
        found = {"num_classes": len(labels)}
        return TrainingData(corpus, dev_examples, texts=tuple, sizes=found, arguments={"labels": labels})

    def model_config(self, run):
        given = run.config if run.initial is None else run.initial.model.config
        names = "dropout", "attention_dropout", "activation_dropout", "no_object_weight"
        rates = {name: getattr(run.config, name) for name in names}
        return dataclasses.replace(given, **rates, **run.data.sizes)

    def encode(self, run, tokenizer):
        return run.data.train

    def with_noise(self, corpus, run):
        changes = run.settings.box_augment
        return ChangedBoxes(corpus, changes, run.settings.seed) if changes else corpus

    def make_loss(self, run, pad_label):
        config = run.config
        grid = cells = None
        if config.two_stage:
            stride = config.strides[-1]
            grid, cells = config.grid(stride), (config.image_rows / stride, config.image_columns / stride)
        return SetPredictionLoss(config.num_queries, grid, cells, config.no_object_weight)

    def make_predictor(self, model, card, run):
        return self.predictor_class(model, card=card, **run.data.arguments)

    def calibrate(self, predictor, run):
        """Sets the least score of what counts as found to that of the best F1 on dev."""
        images, known = run.data.dev
        predictor.min_score = best_min_score(known, predictor.find(images), len(predictor.labels))

    def examples(self, predictor, data):
        images, known = _examples(data, predictor.labels, "class")
        inspect_reader(data, "corpus")
        if not images:
            raise ValueError(f"There must be at least one image to evaluate on. Received: {data.report}.")
        return images, known

    def score(self, predictor, examples, resamples=0, progress=None):
        """Computes AP50, AP and the share of exact sets; `predicted` are `Found`."""
        images, known = examples
        found = predictor.find(images, progress)
        scores, _ = detection_scores(known, found, predictor.labels, predictor.min_score, resamples)
        outcomes = functools.partial(_outcomes, predictor, images, known, found)
        return Evaluation(scores, known, found, outcomes=outcomes)


def _outcomes(predictor, images, known, found):
    labels, least = predictor.labels, predictor.min_score
    kept = [Found(*(array[each.scores >= least] for array in each[:3])) for each in found]

    def show(i):
        objects = [Detection(labels[c], float(score), tuple(box)) for c, box, score in zip(*kept[i][:3])]
        drawn = np.asarray(drawn_objects(images[i], objects, labels))
        return Shown(drawn, *(_counts(each.classes, labels) for each in (known[i], kept[i])))

    return Outcomes(
        "F1 of the objects of the image, %",
        np.array([100 * objects_f1(one, other, least) for one, other in zip(known, found)]),
        show,
        np.array([len(each.classes) for each in known]),
        "objects",
    )


def _counts(classes, labels):
    return "\n".join(f"{label}: {count}" for label, count in zip(labels, np.bincount(classes, minlength=len(labels))))


def _examples(reader, labels, kind):
    """Returns images, and their known objects as `Found`."""
    images, known = [], []
    for example in reader:
        classes = np.array(numbers_of([item.label for item in example.objects], labels, kind), "int32")
        boxes = np.array([item.box for item in example.objects]).reshape(-1, 4)
        images.append(example.image)
        known.append(Found(classes, boxes, None, np.array([item.ignored for item in example.objects], bool)))
    return images, known


_task = ObjectDetection()
train, evaluate, from_checkpoint = _task.train, _task.evaluate, _task.from_checkpoint
