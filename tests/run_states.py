"""The state of a training run in its course, from which another run continues."""

import contextlib
import shutil
from pathlib import Path

import pytest


@contextlib.contextmanager
def copied_at_evaluation(number: int, folder: Path, copy: Path):
    """Copies the folder of a run as the n-th evaluation begins: what a run that is killed then would leave.

    A test trains once from beginning to end and once from the copy, which takes half as long as an interrupted run, a
    resumed one and a whole one.
    """
    from zoo.training.trainer import Trainer

    evaluate, calls = Trainer.save_and_evaluate, []

    def copy_and_evaluate(trainer, *arguments):
        calls.append(trainer)
        if len(calls) == number:
            shutil.copytree(folder, copy)
        return evaluate(trainer, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "save_and_evaluate", copy_and_evaluate)
        yield
    assert copy.exists(), f"no evaluation {number} of {folder}"


def was_resumed(copy: Path, folder: Path) -> bool:
    """Returns whether a run continued from a copy: its first evaluation has the measured speed of the whole run."""
    first, other = ((path / "checkpoint" / "log.jsonl").read_text("utf-8").splitlines()[0] for path in (copy, folder))
    return first == other
