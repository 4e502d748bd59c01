"""Placeholders for addresses, telephone numbers, codes and markup, which no translation may change.

A small model copies "https://docs.python.org/3" letter by letter, or translates a part of it. With placeholders it
reads and writes one rare character instead, and the text behind it comes back as it was, whatever its length. The
model must have been trained with them (`training.placeholders`).

Markup may touch a word, as in "<b>Hello</b>". The model reads a space between its placeholder and the word, since words
and placeholders of training have one; `restore` removes it again.

The regular expressions are read alike by Python, with ASCII word boundaries, and TensorFlow's RE2.
"""

import re
from collections.abc import Callable

from zoo.text.characters import SPACE, character_ranges

FIRST = 0xE000  # The first code point for private use, which texts hardly contain.
MOST = 64  # Placeholders in a text.

_SPACES = SPACE[1:-1]
_LETTERS = f"A-Za-z{character_ranges('L')}"
_LINK = f'[^{_SPACES}<>"“”„«»]*[^{_SPACES}<>"“”„«».,;:!?\'’()\\[\\]{{}}…]'  # Does not end with punctuation.
_NAME = "[0-9A-Za-z](?:[0-9A-Za-z-]*[0-9A-Za-z])?"
_ENDS = "com|org|net|edu|gov|info|io|de|fr|uk|eu|ch|nl|pl|museum"
_PART = "(?:[-_/.:][0-9A-Z]+)"

_SYMBOLS = "&*_=\\\\~^|<>{}"  # The inside of a character class.
TAG = f"</?[A-Za-z][0-9A-Za-z:-]*(?:{SPACE}[^<>=]*=[^<>]*)?{SPACE}?/?>"
_MARKUP = [
    TAG,
    f"\\$?\\{{+ ?[^{{}}{_SPACES}]* ?\\}}+",  # {name}, ${x}, {{ name }}.
    "%(?:[0-9]\\$|\\([0-9A-Za-z_]+\\))?[sd]\\b",  # %s, %1$d, %(name)s.
    "&#?[0-9A-Za-z]+;",
    f"-*[{_SYMBOLS}]+-*",
]
MARKUP = f"(?:{'|'.join(_MARKUP)})+"
"""Tags, variables and symbols that corpora do not have, one or several in a row."""

KEPT = "|".join(
    [
        f"(?:https?|ftp)://{_LINK}",
        f"\\bwww\\.{_LINK}",
        f"[0-9A-Za-z._%+-]+@{_NAME}(?:\\.{_NAME})+",
        f"\\b(?:{_NAME}\\.)+(?:{_ENDS})\\b(?:/{_LINK})?",
        f"\\b(?:{_NAME}\\.)+[a-z]{{2,}}/{_LINK}",
        f"[@#][0-9_]*[{_LETTERS}][0-9_{_LETTERS}]*",
        "\\b0[1-9](?:[ .-]?[0-9]{2}){4}\\b",  # French telephone numbers, such as 06.12.34.56.78.
        "\\b(?:(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\\.){3}(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\\b",
        "\\bv[0-9]+(?:\\.[0-9]+)+\\b",
        "\\+[0-9]{1,3}(?:[ ./-][0-9])?(?:[ ./-]?[0-9]{2,}|[ ./-]?\\([0-9]+\\)){2,}",  # Telephone numbers.
        "\\([0-9]{2,5}\\)[ -]?[0-9][0-9 -]{3,}[0-9]\\b",
        "\\b0[0-9]{2,4}[ /-][0-9][0-9 -]{3,}[0-9]\\b",
        "\\b[0-9]{3}-[0-9]{4}\\b",
        "\\b[0-9]+(?:-[0-9]+){2,}\\b",
        f"\\b[A-Z]{{1,6}}[0-9][0-9A-Z]*{_PART}*\\b",  # Codes such as B12, QW12ER, WPA2-KEY.
        f"\\b[A-Z]+{_PART}*[-_/.:][0-9]+{_PART}*\\b",  # AX-4471, INV/2023/0815.
        f"\\b[0-9]+[A-GI-Z][A-Z]*[0-9][0-9A-Z]*{_PART}*\\b",  # 7F3K-99QL, but not the time 9H30.
        "\\b[0-9A-Za-z]*[0-9][A-GI-Za-gi-ln-z][A-Za-z]*[0-9][0-9A-Za-z]*\\b",  # 4x4, but not 15h30 or 100m2.
        "\\b[A-Za-z]+[0-9]+[A-Za-z]+[0-9A-Za-z]*\\b",  # c0ffee42.
        "\\b[0-9A-Za-z]+(?::?[_=&\\\\]+[0-9A-Za-z]+)+\\b",  # snake_case, x=5, Q&A, C:\\temp.
        MARKUP,
    ]
)
"""What is replaced: the first alternative that matches."""

PLACEHOLDERS = f"[{chr(FIRST)}-{chr(FIRST + MOST - 1)}]"
BEGIN, END = "\ufdd4", "\ufdd5"  # Around what is kept, in the graph; Unicode reserves them for internal use.
GLUE = "\ufdd6"  # In what is kept, where it touches a word.
MARKED = f"{BEGIN}[^{END}]*{END}"
MARKERS = f"[{BEGIN}{END}]"
MARKS = [
    (KEPT, rf"{BEGIN}\g<0>{END}"),
    (f"([^{_SPACES}\"'“„«‘(\\[])({BEGIN})([%$-]*[{_SYMBOLS}%])", rf"\1 \2{GLUE}\3"),
    (f"({BEGIN}{GLUE}?[%$-]*[{_SYMBOLS}%][^{END}]*)({END})([^{_SPACES}\"'“”»’.,;:!?…)\\]])", rf"\1{GLUE}\2 \3"),
]
"""Replacements in order, which put `BEGIN` and `END` around what is kept, and a space between markup and words."""
GLUED = f" ?{GLUE} ?"
"""What is removed where markup touched a word."""
RESERVED = f"[{BEGIN}{END}{GLUE}{PLACEHOLDERS[1:]}"
LOST = "\ufffd"  # What replaces reserved characters that a text has already.

_MARKS = [(re.compile(pattern, re.ASCII), replacement) for pattern, replacement in MARKS]
_PLACEHOLDERS, _RESERVED, _MARKED = re.compile(PLACEHOLDERS), re.compile(RESERVED), re.compile(MARKED)
_MARKERS, _GLUED = re.compile(MARKERS), re.compile(GLUED)
_HINT = re.compile(rf"[0-9@#/%{_SYMBOLS}]|\.[^ ]")  # Found in whatever is kept, and much faster than `KEPT`.


def placeholder(number: int) -> str:
    """Returns the placeholder of the text with this number, from 0."""
    return chr(FIRST + number)


def hide(text: str) -> tuple[str, list[str]]:
    """Replaces what must be kept by placeholders; returns the new text and what they stand for.

    Beyond `MOST` such texts, the others stay. Placeholders that the text has already are lost.
    """
    text = _RESERVED.sub(LOST, text)
    if not _HINT.search(text):
        return text, []
    text, kept = hide_matches(_mark(text), [], _MARKED)
    return _unmark(text), [_MARKERS.sub("", part) for part in kept]


def hide_matches(
    text: str, kept: list[str], pattern: re.Pattern, is_chosen: Callable[[str], bool] = bool
) -> tuple[str, list[str]]:
    """Replaces what matches and is chosen by further placeholders than those of `kept`; returns as `hide` does."""
    kept = [*kept]

    def replace(found):
        if len(kept) == MOST or not is_chosen(found[0]):
            return found[0]
        kept.append(found[0])
        return placeholder(len(kept) - 1)

    return pattern.sub(replace, text), kept


def restore(text: str, kept: list[str]) -> str:
    """Puts back what placeholders stand for, without spaces where markup touched a word.

    Placeholders that stand for nothing are removed.
    """

    def replace(found):
        number = ord(found[0]) - FIRST
        return kept[number] if number < len(kept) else ""

    return _GLUED.sub("", _PLACEHOLDERS.sub(replace, text))


def hide_pair(source: str, target: str) -> tuple[str, str]:
    """Replaces what must be kept and is in both texts of a pair by the same placeholders."""
    sides = tuple(_RESERVED.sub(LOST, text) for text in (source, target))
    if not all(map(_HINT.search, (source, target))):
        return sides
    marked = tuple(map(_mark, sides))
    found, others = map(_MARKED.findall, marked)
    common = [text for text in dict.fromkeys(found) if text in others][:MOST]

    def replace(found):
        return placeholder(common.index(found[0])) if found[0] in common else found[0]

    return tuple(_unmark(_MARKED.sub(replace, side)) for side in marked)


def _mark(text):
    """Applies `MARKS` to a text."""
    for pattern, replacement in _MARKS:
        text = pattern.sub(replacement, text)
    return text


def _unmark(text):
    """Inverts `_mark`, except for spaces around placeholders."""
    return _GLUED.sub("", _MARKERS.sub("", text))
