"""Progress of a training run: a bar with loss and speed on a terminal, elsewhere lines; figures of evaluations."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping

import keras
import rich.console
import rich.progress

from zoo.text.terminal import escape_control_characters, repeated

LINE_SECONDS = 30.0  # Between two lines of a log that is not a terminal.


@contextlib.contextmanager
def regular_lines(write: Callable[[str], None], text: Callable[[], str]) -> Iterator[None]:
    """Writes a line every `LINE_SECONDS` while the block runs, even while it computes.

    Args:
        write: Called with each line, in a thread.
        text: Returns the line.
    """
    with repeated(LINE_SECONDS, lambda: write(text())):
        yield


class Progress(keras.callbacks.Callback):
    """Shows a bar of updates with loss and labels per second, on stderr; regular lines if it is no terminal.

    Args:
        steps: Updates of the training run.
        done: Updates done by earlier runs.
        accumulation: Micro-batches of an update.
        shown: Whether anything is printed.

    Attributes:
        unit: What the labels are of: "tokens" or "examples".
    """

    def __init__(self, steps: int, done: int = 0, accumulation: int = 1, shown: bool = True):
        super().__init__()
        self.unit = "tokens"
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
        self._steps, self._step, self._description = steps, done, "training"
        self._accumulation, self._tokens, self._seconds, self._started = accumulation, 0, 0.0, 0.0
        self._context = contextlib.ExitStack()

    def __enter__(self) -> "Progress":
        self._bar.start()
        self._context.callback(self._bar.stop)
        if not (self._console.quiet or self._console.is_terminal):
            self._context.enter_context(regular_lines(self.print_line, self._line))
        return self

    def __exit__(self, *exception):
        self._context.close()

    def _line(self):
        return f"step {self._step:,} of {self._steps:,}  {self._description}"

    def count(self, tokens: int) -> None:
        """Adds labels that are being trained on: target tokens, or examples; see `unit`."""
        self._tokens += tokens

    def on_epoch_begin(self, epoch, logs=None):
        self.restart_clock()

    def restart_clock(self) -> None:
        """Starts to measure the time of the next update."""
        self._started = time.monotonic()

    def on_train_batch_end(self, batch, logs=None):
        if (batch + 1) % self._accumulation == 0:
            now = time.monotonic()
            self._seconds += now - self._started
            self._started = now
            self._step += 1
            self._description = f"loss {float(logs['loss']):.3f}  {self._speed():,.0f} {self.unit}/s"
            self._bar.update(self._task, advance=1, description=self._description)

    def pop_speed(self) -> int:
        """Returns the labels per second since the last call."""
        speed = round(self._speed())
        self._tokens, self._seconds = 0, 0.0
        return speed

    def print_figures(self, figures: Mapping[str, object]) -> None:
        """Prints figures by name in one line."""
        texts = (
            f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in figures.items()
        )
        self.print_line("  ".join(texts))

    def print_line(self, text: str) -> None:
        """Prints a text in one line, above the bar."""
        self._console.print(escape_control_characters(text), highlight=False, soft_wrap=True, markup=False)

    def _speed(self):
        return self._tokens / max(self._seconds, 1e-9)
