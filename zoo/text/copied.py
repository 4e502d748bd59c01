"""Texts without words, which are their own translation: a lone address, number or emoji."""

import re

from zoo.text.characters import SPACE, character_ranges

_INSIDE = SPACE[1:-1]
_LETTERS = f"A-Za-z{character_ranges('L')}\U00020000-\U0003ffff"
_PARTS = [
    f"(?:https?://|ftp://|www\\.)[^{_INSIDE}]+",
    f"[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)+/[^{_INSIDE}]*",
    f"[^{_INSIDE}@]+@[^{_INSIDE}@]+",
    f"[#@][^{_INSIDE}#@]+",
    f"[^{_INSIDE}{_LETTERS}]+",
]
_PART = f"(?:{'|'.join(_PARTS)})"

COPIED = f"{_PART}(?:{SPACE}+{_PART})*"
"""What such a text matches as a whole, in Python and in RE2."""

_COPIED = re.compile(COPIED)


def is_copied(text: str) -> bool:
    """Returns whether a text without spaces at its ends consists of addresses, numbers, signs and emoji only."""
    return _COPIED.fullmatch(text) is not None
