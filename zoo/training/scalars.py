"""Figures of a training run, for TensorBoard and MLflow."""

import pathlib
from collections.abc import Mapping

from zoo.training.tracking import TrackedRun, is_tracked


class ScalarLog:
    """Writes event files for `tensorboard --logdir` if the package is installed, and to MLflow if that is requested.

    As a context it ends the thread of the last file, and closes it; a later `write` begins another one.

    Args:
        folder: Folder `training` of the run. `tensorboard` in it is created at the first `write`.
        tracked: Whether this process writes to MLflow, if it is requested; see `zoo.training.tracking`.
    """

    def __init__(self, folder: pathlib.Path, tracked: bool = True):
        self._folder, self._writer = folder / "tensorboard", None
        self._run = TrackedRun(folder.parent) if tracked and is_tracked() else None

    def __enter__(self) -> "ScalarLog":
        return self

    def __exit__(self, kind, *error) -> None:
        if self._run is not None and kind is not None:
            self._run.stop(failed=issubclass(kind, Exception))
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def write(self, step: int, figures: Mapping[str, object]) -> None:
        """Writes those of the figures that are numbers, at `step`."""
        if self._run is not None:
            self._run.write(step, figures)
        try:
            from tensorboard.summary import Writer
        except ImportError:
            return
        if self._writer is None:
            self._writer = Writer(str(self._folder))
        for name, value in figures.items():
            if isinstance(value, (int, float)) and name != "step":
                self._writer.add_scalar(name, float(value), step=step)
        self._writer.flush()
