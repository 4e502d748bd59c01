"""Pictures of learning rates and of training runs."""

import json
import os
import pathlib
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformer.visualize.figures import make_figure


def plot_schedule(schedules: Any, steps: int) -> Any:
    """Draws learning rates over the steps of a training run.

    Args:
        schedules: A `keras.optimizers.schedules.LearningRateSchedule`, or another function of the step; or several by
            their names, in a dictionary.
        steps: Number of steps.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        ValueError: If there is no schedule, or no step.
        ImportError: If matplotlib is not installed.
    """
    given = schedules if isinstance(schedules, Mapping) else {"": schedules}
    if not given or steps < 1:
        raise ValueError(f"There must be a schedule and a step. Received: {len(given)} schedules, steps={steps}.")
    figure, axes = make_figure(6, 3.5)
    numbers = np.unique(np.linspace(0, steps - 1, 500).astype(int))
    for name, schedule in given.items():
        rates = [float(ops.convert_to_numpy(schedule(int(number)))) for number in numbers]
        axes[0, 0].plot(numbers, rates, label=name)
    axes[0, 0].set(xlabel="step", ylabel="learning rate", ylim=(0, None))
    if any(given):
        axes[0, 0].legend()
    return figure


def plot_training(run: Any) -> Any:
    """Draws the figures of a training run over its steps or epochs, those with a common ending in one picture.

    Args:
        run: Folder of a run of this package, which has a `log.jsonl`; what `model.fit` returns; or a dictionary of
            lists.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        ValueError: If there are no figures.
        ImportError: If matplotlib is not installed.
    """
    history = run.history if isinstance(run, keras.callbacks.History) else run
    over, values = "epoch", history
    if isinstance(history, str | os.PathLike):
        over, values = "step", _read_log(pathlib.Path(history))
    values = {name: [*numbers] for name, numbers in values.items()}
    steps = values.pop(over, None) or range(1, 1 + max(map(len, values.values()), default=0))
    values = {name: numbers for name, numbers in values.items() if name not in ("epoch", "score")}
    if not values:
        raise ValueError(f"`run` must have figures. Received: none in {run!r:.80}. Train first.")
    groups = {}
    for name in values:
        groups.setdefault(name.removeprefix("train_").removeprefix("dev_").removeprefix("val_"), []).append(name)
    figure, axes = make_figure(4.5 * len(groups), 3.5, 1, len(groups))
    for place, (group, names) in zip(axes.flat, groups.items()):
        for name in names:
            place.plot(steps, values[name], marker=".", label=name)
        place.set(xlabel=over, title=group.replace("_", " "))
        if len(names) > 1:
            place.legend()
    return figure


def _read_log(folder):
    paths = [path for path in (folder / "training", folder / "checkpoint", folder) if (path / "log.jsonl").is_file()]
    if not paths:
        raise ValueError(f"{folder} must be the folder of a training run. Received: one without log.jsonl.")
    lines = [json.loads(line) for line in (paths[0] / "log.jsonl").read_text("utf-8").splitlines()]
    names = {name: None for line in lines for name in line}
    return {name: [line.get(name, float("nan")) for line in lines] for name in names}
