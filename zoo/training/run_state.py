"""Saved state of a training run, from which it resumes; the two newest files are kept."""

import pathlib
import warnings
from collections.abc import Mapping

import numpy as np

from zoo.storage.arrays import load_arrays, save_arrays

KEPT = 2


def save_state(folder: pathlib.Path, step: int, arrays: Mapping[str, np.ndarray], facts: Mapping) -> None:
    """Writes the state after a step, and deletes all but the `KEPT` newest states."""
    save_arrays(folder / f"state-{step:07d}.safetensors", arrays, facts)
    for path in _generations(folder)[KEPT:]:
        path.unlink()


def load_state(folder: pathlib.Path) -> tuple[pathlib.Path, dict[str, np.ndarray], dict] | None:
    """Returns path, arrays and facts of the newest undamaged state; None if there are no states.

    Warns of each damaged state.

    Raises:
        ValueError: If all states are damaged.
    """
    generations = _generations(folder)
    for number, path in enumerate(generations):
        try:
            return path, *load_arrays(path)
        except ValueError as error:
            if number + 1 == len(generations):
                raise ValueError(f"{error} There is no older state. Train into another folder.") from error
            warnings.warn(f"{error} Resuming from {generations[number + 1].name}.", stacklevel=2)
    return None


def _generations(folder):
    return sorted(folder.glob("state-*.safetensors"), reverse=True)
