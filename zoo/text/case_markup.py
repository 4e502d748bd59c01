"""Case markup: words in capitals are encoded as small letters between two markers.

A vocabulary of subwords has "phone", but few words in capitals; "PHONE" falls apart into letters, of which a model
knows nothing. With case markup (also inline casing; Bérard et al. 2019, "Naver Labs Europe's Systems for the WMT19
Machine Translation Robustness Task") "WHERE IS IT?" is encoded as "<capitals> where is it<end>?". Words with a single
capital are not changed.

The regular expressions are read alike by Python and TensorFlow's RE2.
"""

import re

from zoo.text.characters import LOWER

# Unicode reserves these code points for internal use; texts must not contain them.
BEGIN, END = "\ufdd1", "\ufdd2"
_CAPITAL_OF_WORD = "\ufdd3"
BEGIN_PIECE = "\u2581" + BEGIN  # The marker has a space of its own, so that the word behind it keeps its space.

# Letters that are the same again after conversion to small letters and back.
_LETTERS = map(chr, (*range(0x41, 0x250), *range(0x400, 0x530)))
UPPER = "".join(c for c in _LETTERS if c.isupper() and len(c.lower()) == 1 and c.lower().upper() == c) + "\u1e9e"
"""Capitals, as the inside of a character class."""
SHARP_S = "\xdf", "\u1e9e"  # Small and capital; Unicode's capitals of the small one are SS.
_BETWEEN = "[ !-@\\[-`{-~\xa0-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf\xd7\xf7\u2010-\u2027\u2030-\u205e]"
_RUN = f"[{UPPER}]{{2,}}(?:{_BETWEEN}+[{UPPER}]+)*"

# Replacements in order; then what matches `MARKED` is converted to small letters.
REPLACEMENTS = [
    (f"[{BEGIN}{END}{_CAPITAL_OF_WORD}]", "\ufffd"),
    (f"([{UPPER}][{LOWER}])", rf"{_CAPITAL_OF_WORD}\1"),
    (f"( ?{_RUN})", rf" {BEGIN}\1{END}"),
    (rf"\A {BEGIN}([^ ])", rf"{BEGIN} \1"),
    (_CAPITAL_OF_WORD, ""),
]
MARKED = f"{BEGIN}[^{END}]*{END}"
# What matches `ENCODED` in decoded text is converted to capitals; a model may have left out the second marker.
ENCODED = rf"(?:\A{BEGIN} ?| ?{BEGIN})[^{BEGIN}{END}]*{END}?"
MARKERS = rf"\A{BEGIN} ?| ?{BEGIN}|{END}"

_REPLACEMENTS = [(re.compile(pattern), replacement) for pattern, replacement in REPLACEMENTS]
_CHANGED = re.compile(f"[{UPPER}]{{2}}|{REPLACEMENTS[0][0]}")
_MARKED, _ENCODED, _MARKERS = map(re.compile, (MARKED, ENCODED, MARKERS))


def capitals(text: str) -> str:
    """Returns a text in capitals, from which `lower()` leads back: STRA\u1e9eE, as German has it since 2017, not SS."""
    return text.replace(*SHARP_S).upper()


def mark_capitals(text: str) -> str:
    """Converts words in capitals to small letters between markers."""
    if not _CHANGED.search(text):
        return text
    for pattern, replacement in _REPLACEMENTS:
        text = pattern.sub(replacement, text)
    return _MARKED.sub(lambda found: found[0].lower(), text) if BEGIN in text else text


def restore_capitals(text: str) -> str:
    """Inverts `mark_capitals`."""
    if BEGIN not in text and END not in text:
        return text
    text = _ENCODED.sub(lambda found: capitals(_MARKERS.sub("", found[0])), text)
    return text.replace(END, "")
