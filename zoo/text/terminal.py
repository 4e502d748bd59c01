"""What is printed: texts of anybody, which must not steer the terminal that shows them."""

import re
import sys

import rich.markup

# Control characters but for tab and line feed, marks that turn the direction of writing, halves of surrogate pairs.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_HALVES = re.compile("[\ud800-\udfff]")


def line(text: str) -> str:
    """The text without the line breaks in it, of all kinds: line n answers line n."""
    return " ".join(text.splitlines())


def escaped(text: str) -> str:
    """The text with what steers a terminal written out, such as `\\x1b`."""
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def cell(text: str) -> str:
    """The text for a cell of a rich table, as it stands."""
    return rich.markup.escape(escaped(text))


def answer(text: str) -> None:
    """Prints an answer to standard output: escaped on a terminal, else as it is but for what UTF-8 cannot write."""
    print(escaped(text) if sys.stdout.isatty() else _HALVES.sub("\ufffd", text))
