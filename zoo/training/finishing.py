"""The checkpoint of a training run: written at its end, or by `finish` from a run that has not ended."""

import dataclasses
import json
import math
import os
import pathlib
import shutil
from collections.abc import Callable, Mapping

import numpy as np

from keras_transformer.training import average_arrays
from zoo.config_values import to_dict
from zoo.storage.arrays import load_arrays, write_atomically
from zoo.storage.checkpoints import CONFIG, contents, read_card, read_checkpoint, write_checkpoint
from zoo.storage.lock import folder_lock
from zoo.storage.mirrors import copy_back, open_folder

_LOG = "log.jsonl"


def finished_steps(folder: pathlib.Path) -> float:
    """Returns the steps after which a training run wrote its checkpoint: 0 without one or with one of `finish`."""
    if not (folder / "checkpoint").exists():
        return 0
    try:
        card = read_card(folder / "checkpoint")
        return 0 if "unfinished" in card else card["recipe"]["training"]["steps"]
    except (ValueError, KeyError, TypeError):  # Not a checkpoint of a training run: nothing may replace it.
        return math.inf


def write_result(folder: pathlib.Path, save: Callable[[pathlib.Path], object]) -> pathlib.Path:
    """Writes the checkpoint of a training run, with the log of the run beside the card; returns its folder.

    A checkpoint that is already there, from before the run was extended, is kept as `checkpoint-STEPS`; one that
    `finish` wrote is deleted.

    Args:
        folder: Folder of the run.
        save: Called with the folder to write.
    """
    target, fresh = folder / "checkpoint", folder / "checkpoint.new"
    shutil.rmtree(fresh, ignore_errors=True)
    save(fresh)
    log = folder / "training" / _LOG
    if log.exists():
        write_atomically(fresh / _LOG, log.read_bytes())
    steps = finished_steps(folder)
    if target.exists():
        earlier = folder / (f"checkpoint-{steps}" if steps else "checkpoint.unfinished")
        shutil.rmtree(earlier, ignore_errors=True)
        os.replace(target, earlier)
    os.replace(fresh, target)
    shutil.rmtree(folder / "checkpoint.unfinished", ignore_errors=True)
    return target


def check_model(folder: pathlib.Path, config: object) -> None:
    """Compares the configuration of a model with that which a training run was started with.

    Raises:
        ValueError: If they differ; the message names the settings, such as those that come from another `initial`.
    """
    path = folder / "start" / CONFIG
    if not path.exists():
        return
    started, received = json.loads(path.read_text("utf-8")), to_dict(config)
    different = [name for name in received if name in started and started[name] != received[name]]
    if different:
        changes = ", ".join(f"{name} was {started[name]!r}, now {received[name]!r}" for name in different)
        raise ValueError(
            f"The training run in {folder} was started with another model ({changes}). Use the recipe and the initial "
            "model that it was started with, or another folder; nothing was changed."
        )


def finish(folder: str | os.PathLike, choice: str | None = None) -> tuple[pathlib.Path, str]:
    """Writes a checkpoint from a training run that has not ended; returns its folder and what its weights are.

    The run can still be resumed, and then replaces this checkpoint.

    Args:
        folder: Folder of the run.
        choice: The weights: the "best" on the dev set, the "average" of the last evaluations, or the "last" ones, at an
            evaluation or when the run was stopped. By default the best if there has been an evaluation, else the last.

    Raises:
        ValueError: If the folder has no training run, or the run has ended, is still going on or has no such weights.
    """
    run = open_folder(folder)
    if not (run / "recipe.json").exists() or not (run / "start").exists():
        raise ValueError(f"Expected the folder of a training run. Received: {run}, which {contents(run)}.")
    with folder_lock(run):
        if finished_steps(run):
            raise ValueError(f"{run / 'checkpoint'} is finished already. Use it as it is; nothing was changed.")
        arrays, description = _weights(run / "training", choice)
        start, recipe = read_checkpoint(run / "start"), json.loads((run / "recipe.json").read_text("utf-8"))
        card = {**start.card, "weights": description, "unfinished": f"{description} of {recipe['training']['steps']:,}"}
        card["recipe"] = {**card["recipe"], "training": recipe["training"]}
        if arrays.keys() != start.arrays.keys():
            raise ValueError(f"{run} has weights of another model than that in {run / 'start'}. Start the run anew.")
        checkpoint = dataclasses.replace(start, card=card, arrays=arrays)
        target = write_result(run, lambda path: write_checkpoint(path, checkpoint))
        copy_back(run, wait=True)
        return target, description


def _weights(training, choice) -> tuple[Mapping[str, np.ndarray], str]:
    steps = {path: int(path.stem.split("-")[1]) for path in sorted(training.glob("step-*.safetensors"))}
    best, stopped = training / "best.safetensors", training / "last.safetensors"
    choice = choice or ("best" if best.exists() else "last")
    if choice == "best" and best.exists():
        arrays, facts = load_arrays(best)
        return arrays, f"best weights on dev, step {facts['step']:,}"
    if choice == "average" and steps:
        several = f"average of the weights at {', '.join(f'{step:,}' for step in steps.values())}"
        return average_arrays([load_arrays(path)[0] for path in steps]), several
    if choice == "last":
        found = [(step, load_arrays(path)[0]) for path, step in [*steps.items()][-1:]]
        if stopped.exists():
            arrays, facts = load_arrays(stopped)
            found.append((facts["step"], arrays))
        if found:
            step, arrays = max(found, key=lambda pair: pair[0])
            return arrays, f"last weights, step {step:,}"
    raise ValueError(
        f"{training.parent} has no {choice} weights yet: it was neither evaluated nor stopped by Ctrl-C. Start the "
        "training again, and let it come to its first evaluation or stop it by Ctrl-C."
    )
