"""Output of untrusted texts, whose control characters must not reach the terminal."""

import contextlib
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator

import rich.console
import rich.markup

# Control characters except tab and line feed, marks that change the direction of writing, lone surrogates.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_working = []  # The console that shows that something goes on, if any.


def join_lines(text: str) -> str:
    """Replaces line breaks of all kinds by spaces, so that line n of the output belongs to line n of the input."""
    return " ".join(text.splitlines())


def escape_control_characters(text: str) -> str:
    """Replaces control characters by escape sequences such as `\\x1b`."""
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def table_cell(text: str) -> str:
    """Escapes a text for a cell of a rich table, control characters and markup included."""
    return rich.markup.escape(escape_control_characters(text))


@contextlib.contextmanager
def repeated(seconds: float, call: Callable[[], None]) -> Iterator[None]:
    """Calls a function every few seconds while the block runs, in a thread, to show how far it is."""
    ended = threading.Event()

    def run():
        while not ended.wait(seconds):
            call()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextlib.contextmanager
def working(text: str) -> Iterator[None]:
    """Shows on stderr, if that is a terminal, that something goes on while the block runs.

    It shows also while the block sends what native libraries print elsewhere. Lines are printed by `working_console`.
    """
    if not sys.stderr.isatty() or _working:
        yield
        return
    with contextlib.ExitStack() as stack:
        terminal = stack.enter_context(open(os.dup(2), "w", encoding="utf-8"))
        console = rich.console.Console(file=terminal, force_terminal=True)
        stack.enter_context(console.status(table_cell(text)))
        _working.append(console)
        stack.callback(_working.clear)
        yield


def working_console() -> rich.console.Console | None:
    """Returns the console of `working`, which prints lines above what it shows; None if nothing is shown."""
    return _working[0] if _working else None


def print_result(text: str, end: str = "\n") -> None:
    """Prints a result to standard output, with control characters escaped if that is a terminal."""
    print(escape_control_characters(text) if sys.stdout.isatty() else _SURROGATES.sub("\ufffd", text), end=end)
