"""Progress of a training run on the terminal: a bar with loss and speed, and a line for each evaluation."""

import time
from collections.abc import Mapping

import keras
import rich.console
import rich.progress

from zoo.text.terminal import escape_control_characters


class Progress(keras.callbacks.Callback):
    """Shows a bar of updates with loss and target tokens per second, on stderr.

    Args:
        steps: Updates of the training run.
        done: Updates done by earlier runs.
        accumulation: Micro-batches of an update.
        shown: Whether anything is printed.
    """

    def __init__(self, steps: int, done: int = 0, accumulation: int = 1, shown: bool = True):
        super().__init__()
        self._console = rich.console.Console(stderr=True, quiet=not shown)
        self._bar = rich.progress.Progress(
            "{task.description}",
            rich.progress.BarColumn(),
            rich.progress.MofNCompleteColumn(),
            rich.progress.TimeRemainingColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("training", total=steps, completed=done)
        self._accumulation, self._tokens, self._seconds, self._started = accumulation, 0, 0.0, 0.0

    def __enter__(self) -> "Progress":
        self._bar.start()
        return self

    def __exit__(self, *exception):
        self._bar.stop()

    def count(self, tokens: int) -> None:
        """Adds target tokens that are being trained on."""
        self._tokens += tokens

    def on_epoch_begin(self, epoch, logs=None):
        self._started = time.monotonic()

    def on_train_batch_end(self, batch, logs=None):
        if (batch + 1) % self._accumulation == 0:
            now = time.monotonic()
            self._seconds += now - self._started
            self._started = now
            description = f"loss {float(logs['loss']):.3f}  {self._speed():,.0f} tokens/s"
            self._bar.update(self._task, advance=1, description=description)

    def pop_speed(self) -> int:
        """Returns the target tokens per second since the last call."""
        speed = round(self._speed())
        self._tokens, self._seconds = 0, 0.0
        return speed

    def print_figures(self, figures: Mapping[str, object]) -> None:
        """Prints figures by name in one line."""
        texts = (
            f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in figures.items()
        )
        self._console.print(escape_control_characters("  ".join(texts)), highlight=False, soft_wrap=True, markup=False)

    def _speed(self):
        return self._tokens / max(self._seconds, 1e-9)
