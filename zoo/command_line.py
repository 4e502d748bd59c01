"""What the command lines of all tasks have in common."""

import argparse
import sys
from collections.abc import Callable
from typing import Any

import rich.console
import rich.progress

from zoo.quiet import quiet_start

_errors = rich.console.Console(stderr=True)


def run(parser: argparse.ArgumentParser, arguments: list[str] | None = None) -> int:
    """Runs the command that the arguments name; returns the exit status.

    2 stands for what the caller can mend, told in one line.
    """
    options = parser.parse_args(arguments)
    try:
        with quiet_start():
            import keras  # noqa: F401 (starts the backend)
        options.run(options)
    except (ValueError, OSError, ImportError) as error:
        print(f"error: {line(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from the last checkpoint", file=sys.stderr)
        return 130
    return 0


def add_command(commands: Any, name: str, run: Callable[[argparse.Namespace], None]) -> argparse.ArgumentParser:
    """A parser for a command, which `run` is called for; its docstring is the help."""
    command = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
    command.set_defaults(run=run)
    return command


def strategy(name: str | None) -> Any:
    """The `tf.distribute` strategy that `--strategy` names; None for none."""
    if name is None:
        return None
    import keras

    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            f"--strategy {name} needs the TensorFlow backend. Received: KERAS_BACKEND={keras.backend.backend()}. "
            "Unset it, or leave out --strategy."
        )
    from zoo.tf import distribution

    return distribution.mirrored_strategy()


def line(text: str) -> str:
    """The text without the line breaks in it, of all kinds: line n answers line n."""
    return " ".join(text.splitlines())


def log(text: str) -> None:
    """Prints a text to stderr as it stands."""
    _errors.print(text, highlight=False, markup=False, soft_wrap=True)


class ProgressBar:
    """A bar on stderr; entered, it gives the function that moves it by a count."""

    def __init__(self, total: int, doing: str):
        self._bar = rich.progress.Progress(console=_errors, transient=True, disable=not _errors.is_terminal)
        self._task = self._bar.add_task(doing, total=total)

    def __enter__(self) -> Callable[[int], None]:
        self._bar.start()
        return lambda count: self._bar.advance(self._task, count)

    def __exit__(self, *exception):
        self._bar.stop()
