"""Figures of a run as TensorBoard scalars, where the package tensorboard is installed."""

import pathlib
from collections.abc import Mapping


class ScalarLog:
    """Writes event files that `tensorboard --logdir` shows; does nothing without the package.

    Args:
        folder: Made when the first figures come.
    """

    def __init__(self, folder: pathlib.Path):
        self._folder, self._writer = folder, None
        try:
            from tensorboard.summary import Writer
        except ImportError:
            Writer = None
        self._make = Writer

    def write(self, step: int, figures: Mapping[str, object]) -> None:
        """Adds the numbers among `figures` at `step`."""
        if self._make is None:
            return
        if self._writer is None:
            self._writer = self._make(str(self._folder))
        for name, value in figures.items():
            if isinstance(value, (int, float)) and name != "step":
                self._writer.add_scalar(name, float(value), step=step)
        self._writer.flush()
