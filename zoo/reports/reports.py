"""Reports of evaluations and of training runs: pages of HTML."""

import importlib.util
import os
import pathlib
import platform
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import keras
import numpy as np

from keras_transformer.visualize import plot_training
from zoo.extras import install_command
from zoo.reports.page import Page
from zoo.reports.pictures import draw_lengths, draw_reliability, draw_score_by_length, draw_scores
from zoo.serving.heatmap import heatmap_figure

_WORST, _SAMPLES, _CONFUSIONS, _DRAWN_CLASSES = 50, 10, 15, 30


def write_evaluation(path: str | os.PathLike, predictor: Any, evaluation: Any, command: str = "") -> None:
    """Writes the report of an evaluation.

    Args:
        path: File to write.
        predictor: The predictor.
        evaluation: Its `zoo.training.tasks.Evaluation`.
        command: The command that was given.
    """
    page = Page(f"Evaluation of {_name(predictor)}")
    _add_scores(page, evaluation.scores)
    if evaluation.outcomes is not None:
        outcomes = evaluation.outcomes()
        _add_pictures(page, outcomes)
        page.heading(f"The {min(_WORST, len(outcomes.scores)):,} examples with the lowest scores")
        _add_examples(page, outcomes, outcomes.worst(_WORST))
    _add_model(page, predictor)
    _add_machine(page, command)
    page.write(path)


def write_training(
    path: str | os.PathLike,
    predictor: Any,
    evaluation: Any,
    folder: pathlib.Path,
    lines: Iterable[str],
    lengths: Sequence[np.ndarray],
) -> None:
    """Writes the report of a training run.

    Args:
        path: File to write.
        predictor: The trained predictor.
        evaluation: Its `zoo.training.tasks.Evaluation` on the dev set.
        folder: Folder of the run.
        lines: What was logged of the corpora.
        lengths: Lengths of the rows of the training corpus, of one or two sides.
    """
    card = predictor.card
    page = Page(f"Training of {_name(predictor)}")
    _add_scores(page, evaluation.scores)
    if "seconds" in card:
        page.text(f"Trained in {_duration(card['seconds'])}, evaluations on dev included. Weights: {card['weights']}.")
    page.heading("Curves")
    if _can_draw(page):
        page.figure(plot_training(folder), "Loss and scores over the steps of the training run")
    page.heading("Corpora")
    page.lines(lines)
    if any(np.ptp(values) for values in lengths if len(values)) and _can_draw(page, silent=True):
        names = ["source", "target"] if len(lengths) > 1 else ["rows"]
        page.figure(draw_lengths([*zip(names, lengths)]), "Lengths of the rows of the training corpus")
    if evaluation.outcomes is not None:
        outcomes = evaluation.outcomes()
        page.heading("Examples from dev")
        _add_examples(page, outcomes, outcomes.spread(_SAMPLES))
        page.heading("Examples from dev with the lowest scores")
        _add_examples(page, outcomes, outcomes.worst(_SAMPLES))
        _add_pictures(page, outcomes)
    _add_model(page, predictor)
    _add_machine(page, card.get("command", ""))
    page.write(path)


def _name(predictor):
    return predictor.card.get("name") or f"a model of the task {predictor.task}"


def _can_draw(page, silent=False):
    found = importlib.util.find_spec("matplotlib") is not None
    if not (found or silent):
        page.text(f"Pictures need matplotlib. Install it: {install_command('matplotlib')}")
    return found


def _add_scores(page, scores):
    page.heading("Scores")
    if not scores:
        page.text("No score beside the loss was computed.")
        return
    rows = ((score.metric, score.value, score.interval or "", score.signature) for score in scores)
    page.table(["metric", "value", "± (95 %, bootstrap)", "how it was computed"], rows)


def _add_pictures(page, outcomes):
    page.heading(f"Scores of the examples: {outcomes.measure}")
    if _can_draw(page):
        page.figure(draw_scores(outcomes.scores, outcomes.measure), f"Number of examples over {outcomes.measure}")
        if outcomes.lengths is not None and np.ptp(outcomes.lengths):
            figure = draw_score_by_length(outcomes.lengths, outcomes.scores, outcomes.measure, outcomes.unit)
            text = f"{outcomes.measure} over the length in {outcomes.unit}: means of groups, with 95 % intervals"
            page.figure(figure, text)
    if outcomes.classes is not None:
        _add_classes(page, outcomes.classes)


def _add_classes(page, classes):
    labels, size = classes.labels, len(classes.labels)
    matrix = np.bincount(classes.gold * size + classes.predicted, minlength=size**2).reshape(size, size)
    page.heading("Classes")
    if size <= _DRAWN_CLASSES and _can_draw(page, silent=True):
        shares = matrix / np.maximum(1, matrix.sum(1, keepdims=True))
        figure = heatmap_figure(shares, labels, labels, matrix, xlabel="predicted", ylabel="class")
        page.figure(figure, "Confusion matrix: how often each class was predicted as which")
    wrong = matrix - np.diag(np.diag(matrix))
    order = np.argsort(-wrong, axis=None, kind="stable")[:_CONFUSIONS]
    pairs = [divmod(int(place), size) for place in order if wrong.flat[place]]
    page.text("Most frequent confusions:" if pairs else "No class was confused with another.")
    if pairs:
        rows = ((labels[i], labels[j], int(wrong[i, j]), int(matrix[i].sum())) for i, j in pairs)
        page.table(["class", "predicted", "times", "of"], rows)
    if _can_draw(page, silent=True):
        text = "Calibration: how often predictions are right over how sure the model was. On the dotted line, it knows."
        page.figure(draw_reliability(classes.confidences, classes.gold == classes.predicted), text)


def _add_examples(page, outcomes, numbers):
    rows = ((number + 1, *outcomes.show(number), float(outcomes.scores[number])) for number in numbers)
    page.table(["number", "given", "expected", "predicted", outcomes.measure], rows)


def _add_model(page, predictor):
    page.heading("Model and settings")
    count = predictor.model.count_params()
    page.text(f"{count:,} parameters, {4 * count / 1e6:,.1f} MB as float32.")
    recipe = predictor.card.get("recipe", {})
    for group, values in recipe.items():
        if isinstance(values, Mapping):
            page.table([group, "value"], ((name, str(value)) for name, value in _flat(values)))


def _flat(values, prefix=""):
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _add_machine(page, command):
    page.heading("Machine")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    backend = keras.backend.backend()
    version = importlib.import_module(backend).__version__
    rows = [
        ("system", f"{platform.platform()}, Python {platform.python_version()}"),
        ("devices", f"{cores} CPU cores; {', '.join(map(str, keras.distribution.list_devices()))}"),
        ("packages", f"Keras {keras.__version__}, {backend} {version}, NumPy {np.__version__}"),
    ]
    page.table(["", ""], [*rows, *([("command", command)] if command else [])])


def _duration(seconds):
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"
