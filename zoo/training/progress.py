"""What a training run shows on the terminal: a bar with the speed, and a line after each stretch."""

import time
from collections.abc import Mapping

import keras
import rich.console
import rich.progress

from zoo.text.terminal import escape_control_characters


class Progress:
    """A bar of updates with loss and target tokens per second, on stderr.

    Args:
        steps: Updates in all.
        done: Updates done by earlier runs.
        shown: Whether anything is printed.
    """

    def __init__(self, steps: int, done: int = 0, shown: bool = True):
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
        self._tokens, self._seconds = 0, 0.0

    def __enter__(self) -> "Progress":
        self._bar.start()
        return self

    def __exit__(self, *exception):
        self._bar.stop()

    def callback(self, accumulation: int) -> keras.callbacks.Callback:
        """The Keras callback that moves the bar."""
        return _MoveBar(self, accumulation)

    def count(self, tokens: int) -> None:
        """Adds target tokens that are being trained on."""
        self._tokens += tokens

    def tick(self, seconds: float, loss: float) -> None:
        """One update is done."""
        self._seconds += seconds
        speed = self._tokens / max(self._seconds, 1e-9)
        self._bar.update(self._task, advance=1, description=f"loss {loss:.3f}  {speed:,.0f} tokens/s")

    def figures(self) -> dict[str, float]:
        """Target tokens per second since the last call."""
        speed = self._tokens / max(self._seconds, 1e-9)
        self._tokens, self._seconds = 0, 0.0
        return {"tokens_per_second": round(speed)}

    def report(self, figures: Mapping[str, object]) -> None:
        """Prints the figures of a stretch on a line of their own."""
        texts = (f"{name} {_shown(value)}" for name, value in figures.items())
        self._console.print(escape_control_characters("  ".join(texts)), highlight=False, soft_wrap=True, markup=False)


class _MoveBar(keras.callbacks.Callback):
    def __init__(self, progress, accumulation):
        super().__init__()
        self._progress, self._accumulation = progress, accumulation
        self._begun = None

    def on_epoch_begin(self, epoch, logs=None):
        self._begun = time.monotonic()

    def on_train_batch_end(self, batch, logs=None):
        if (batch + 1) % self._accumulation == 0:
            now = time.monotonic()
            self._progress.tick(now - self._begun, float(logs["loss"]))
            self._begun = now


def _shown(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)
