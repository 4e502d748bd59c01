"""TensorBoard scalars of a training run."""

import pathlib
from collections.abc import Mapping


class ScalarLog:
    """Writes event files for `tensorboard --logdir`; does nothing if the package tensorboard is not installed.

    As a context it ends the thread of the last file, and closes it; a later `write` begins another one.

    Args:
        folder: Folder of the event files, created at the first `write`.
    """

    def __init__(self, folder: pathlib.Path):
        self._folder, self._writer = folder, None

    def __enter__(self) -> "ScalarLog":
        return self

    def __exit__(self, *error) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def write(self, step: int, figures: Mapping[str, object]) -> None:
        """Writes those of the figures that are numbers, at `step`."""
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
