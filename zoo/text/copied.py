"""Texts without words, which are their own translation: a lone address, number, emoji or tag."""

import re

from zoo.text.characters import SPACE, character_ranges
from zoo.text.placeholders import MARKUP

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
"""What such a text matches as a whole, in Python and in RE2, after a sign has replaced each `MARKUP`."""
SIGN = "&"

_COPIED, _MARKUP = re.compile(COPIED), re.compile(MARKUP, re.ASCII)


def is_copied(text: str) -> bool:
    """Returns whether a text without spaces at its ends has only addresses, numbers, signs, emoji and markup."""
    return _COPIED.fullmatch(_MARKUP.sub(SIGN, text)) is not None
