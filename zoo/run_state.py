"""The state that a training goes on from: two generations on disk, and one process at a time."""

import contextlib
import os
import pathlib
import shutil
import warnings
from collections.abc import Iterator, Mapping

import numpy as np

from zoo.arrays import load_arrays, save_arrays

KEPT = 2


def save_state(folder: pathlib.Path, step: int, arrays: Mapping[str, np.ndarray], facts: Mapping) -> None:
    """Writes the state after a step, and deletes all but the `KEPT` newest."""
    save_arrays(folder / f"state-{step:07d}.safetensors", arrays, facts)
    for path in _generations(folder)[KEPT:]:
        path.unlink()


def load_state(folder: pathlib.Path) -> tuple[pathlib.Path, dict[str, np.ndarray], dict] | None:
    """Path, arrays and facts of the newest state that is whole, with a warning for one that is not; None if none is.

    Raises:
        ValueError: If there are states and none is whole.
    """
    generations = _generations(folder)
    for number, path in enumerate(generations):
        try:
            return path, *load_arrays(path)
        except ValueError as error:
            if number + 1 == len(generations):
                raise ValueError(f"{error} There is no older state. Train into another folder.") from error
            warnings.warn(f"{error} Going on from {generations[number + 1].name}.", stacklevel=2)
    return None


def _generations(folder):
    return sorted(folder.glob("state-*.safetensors"), reverse=True)


@contextlib.contextmanager
def locked(folder: pathlib.Path) -> Iterator[None]:
    """Keeps other processes from writing in a folder, on systems with `flock`; a killed process keeps no lock.

    What a killed one was writing, which has no name yet, is deleted.

    Raises:
        ValueError: If another process, or another training of this one, has the lock; the message names it.
    """
    try:
        import fcntl
    except ImportError:  # Windows.
        yield
        return
    with open(folder / "lock", "a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            raise ValueError(
                f"{folder} is in use by another process, {file.read().strip() or 'unknown'}. "
                "Wait for it, or use another folder; nothing was changed."
            ) from error
        file.truncate(0)
        file.write(f"{os.getpid()} on {os.uname().nodename}\n")
        file.flush()
        for part in folder.glob("**/*.part"):
            part.unlink() if part.is_file() else shutil.rmtree(part)
        yield
