"""The task of classifying texts or pairs of texts."""

import dataclasses
import functools

import numpy as np

from zoo.classification.data import class_names, class_numbers
from zoo.classification.metrics import classification_scores
from zoo.classification.predictor import TextClassifier, encode_texts
from zoo.corpora.inspection import inspect_reader, warn_of_header, warn_of_overlap
from zoo.corpora.labelled_corpus import LabelledCorpus
from zoo.reports.outcomes import Classes, Outcomes, Shown
from zoo.serving.calibration import fit_temperature
from zoo.training.tasks import Evaluation, Task, TrainingData


class Classification(Task):
    """Trains and evaluates text classifiers. Corpora are readers of `zoo.classification.data`.

    The training corpus determines the number of classes, and whether the texts are pairs. Examples are (numbers of the
    classes, tuples of texts).
    """

    predictor_class = TextClassifier
    scores = {"accuracy": "accuracy", "macro_f1": "macro F1", "loss": "loss"}

    def read(self, recipe, train, dev, log):
        names = class_names(train)
        classes, texts = class_numbers(train, names)
        inspect_reader(train, "train", log)
        warn_of_header([names[i] for i in classes], train.report.first[0], log, "add --header")
        log(f"{train.report}; classes: {_counts(classes, names)}")
        dev_classes, dev_texts = class_numbers(dev, names)
        inspect_reader(dev, "dev", log)
        warn_of_overlap(texts, dev_texts, log)
        log(f"dev: {dev.report}; classes: {_counts(dev_classes, names)}")
        if not dev_texts:
            raise ValueError("The dev corpus must have examples to select the best checkpoint. Received: no example.")
        pairs = len(texts[0]) == 2
        return TrainingData(
            (classes, texts),
            (dev_classes, dev_texts),
            texts=lambda: (text for parts in texts for text in parts),
            sizes={"num_classes": len(names), "num_texts": 1 + pairs},
            arguments={"labels": names},
        )

    def model_config(self, run):
        given = run.initial.model.config if run.initial else run.config
        segments = max(given.num_segments, 2 * (run.data.sizes["num_texts"] > 1))
        data = run.data._replace(sizes={**run.data.sizes, "num_segments": segments})
        return super().model_config(dataclasses.replace(run, data=data))

    def encode(self, run, tokenizer):
        classes, texts = run.data.train
        pairs = run.config.num_texts > 1
        tokens, segments, cut = encode_texts(_inputs(texts), tokenizer, pairs, run.max_tokens)
        if len(cut):
            run.log(f"{len(cut):,} texts of more than {run.max_tokens} tokens were truncated")
        return LabelledCorpus(tokens, np.array(classes, "int32"), {"segment_ids": segments} if pairs else {})

    def examples(self, predictor, data):
        classes, texts = class_numbers(data, predictor.labels)
        inspect_reader(data, "corpus")
        if not texts:
            raise ValueError(f"There must be at least one example to evaluate on. Received: {data.report}.")
        return classes, texts

    def score(self, predictor, examples, resamples=0, progress=None):
        """Computes accuracy, macro F1 and calibration error; `predicted` are probabilities `[N, C]`."""
        classes, texts = np.array(examples[0]), examples[1]
        probabilities = predictor.probabilities(_inputs(texts), progress)
        gold = np.take_along_axis(probabilities, classes[:, None], 1)
        loss = float(-np.log(np.maximum(gold, 1e-30)).mean())
        scores = classification_scores(classes, probabilities, resamples)
        outcomes = functools.partial(_outcomes, predictor.labels, classes, texts, probabilities)
        return Evaluation(scores, classes, probabilities, loss, outcomes)

    def calibrate(self, predictor, run):
        found = self.score(predictor, run.data.dev)
        predictor.temperature = fit_temperature(found.gold, found.predicted, predictor.temperature)


def _outcomes(labels, classes, texts, probabilities):
    found = probabilities.argmax(1)
    return Outcomes(
        "probability of the right class",
        np.take_along_axis(probabilities, classes[:, None], 1)[:, 0],
        lambda i: Shown("\n".join(texts[i]), labels[classes[i]], f"{labels[found[i]]} ({probabilities[i].max():.2f})"),
        np.array([sum(len(part.split()) for part in each) for each in texts]),
        classes=Classes.of(labels, classes, probabilities),
    )


def _inputs(texts):
    """Returns pairs unchanged, and single texts without their tuples, as a classifier takes them."""
    return texts if len(texts[0]) == 2 else [text for (text,) in texts]


def _counts(classes, names):
    counts = np.bincount(classes, minlength=len(names))
    return ", ".join(f"{name} {count:,}" for name, count in zip(names, counts))


_task = Classification()
train, evaluate, from_checkpoint = _task.train, _task.evaluate, _task.from_checkpoint
