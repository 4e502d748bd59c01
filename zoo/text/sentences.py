"""Ends of sentences within a line, by regular expressions that Python and TensorFlow's RE2 read alike."""

import re

from zoo.text.characters import LOWER, SPACE
from zoo.text.placeholders import TAG

_CLOSING = "[\"'»”’“)\\]]*"
_OPENING = "[\"'«»„“”‘’(\\[¿¡]*"
_GAP = SPACE.replace("\t-\r", "\t\x0b\x0c") + "+"  # Without a line break, which is an end that has been found.
_KEPT = "\ufdd0"  # Stands for a space after an abbreviation; Unicode reserves it for such uses.

# Titles, months, units and the like before which or after which no sentence ends, in English and German.
_ABBREVIATIONS = [
    "approx",
    "appt",
    "apr",
    "aug",
    "ave",
    "bd",
    "bzgl",
    "bzw",
    "ca",
    "capt",
    "cf",
    "cmdr",
    "co",
    "col",
    "corp",
    "dec",
    "dept",
    "dipl",
    "dr",
    "ed",
    "eds",
    "etc",
    "evtl",
    "exkl",
    "feb",
    "fig",
    "figs",
    "ft",
    "gen",
    "ggf",
    "gov",
    "hon",
    "hr",
    "hrsg",
    "inc",
    "ing",
    "inkl",
    "jan",
    "jr",
    "lt",
    "ltd",
    "maj",
    "max",
    "min",
    "mio",
    "mr",
    "mrd",
    "mrs",
    "ms",
    "mt",
    "mwst",
    "nov",
    "nr",
    "oct",
    "okt",
    "op",
    "pp",
    "prof",
    "rep",
    "resp",
    "rev",
    "sen",
    "sep",
    "sept",
    "sgt",
    "sog",
    "sr",
    "st",
    "str",
    "tel",
    "usw",
    "vgl",
    "vol",
    "vols",
    "vs",
    "zb",
    "zzgl",
]


_OTHER = SPACE[1:-1] + ".,;:!?…。！？؟)\\]}»”’" + _KEPT  # What begins no sentence.
_LETTER = f"[^{SPACE[1:-1]}0-9.{_KEPT}]"
# A number may be an ordinal, a letter an initial, and letters with points are abbreviations: 3. Mai, J. S. Bach, e.g.
_WORDS = f"(?i:{'|'.join(_ABBREVIATIONS)})"
_BEFORE_POINT = f"(?:{_WORDS}|[0-9]{{1,2}}|{_LETTER}|(?:{_LETTER}{{1,3}}\\.)+{_LETTER}{{1,3}})"
_ABBREVIATION = f"(^|{SPACE}|{_KEPT}|[\"'«»„“”‘’(\\[])({_BEFORE_POINT}\\.){SPACE}"

# At the beginning of an item of a list, a quoted line, a heading.
_BULLET = f"^([-–—*•·‣◦▪>#]+|[0-9]{{1,2}}\\))({SPACE})"

# Replacements in order; a line break is the end of a sentence, before the white space that follows. Those of
# abbreviations are made twice, for neighbours.
REPLACEMENTS = [
    (_KEPT, "\ufffd"),
    (_BULLET, "\\1\n\\2"),
    (_ABBREVIATION, rf"\1\2{_KEPT}"),
    (_ABBREVIATION, rf"\1\2{_KEPT}"),
    (f"([.!?…。！？؟]{_CLOSING})({_GAP}{_OPENING}[^{LOWER}{_OTHER}])", "\\1\n\\2"),
    (f"([.!?…])((?:{_GAP})?(?:{TAG}(?:{_GAP})?)+{_OPENING}[^{LOWER}{_OTHER}<])", "\\1\n\\2"),
    (f"({SPACE}[.!?])({_GAP}[^{_OTHER}])", "\\1\n\\2"),  # Punctuation between spaces, as after tokenisation.
    (f"([!?])({_GAP}[{LOWER}])", "\\1\n\\2"),
    (f"([{LOWER}]{{4}}\\.)({_GAP}[{LOWER}])", "\\1\n\\2"),
    (_KEPT, " "),
]
_COMPILED = [(re.compile(pattern), replacement) for pattern, replacement in REPLACEMENTS]


def split_sentences(line: str) -> list[str]:
    """Splits a line of text, without line breaks, into its sentences; what is no clear end of a sentence is none.

    All but the first begin with the white space before them.
    """
    for pattern, replacement in _COMPILED:
        line = pattern.sub(replacement, line)
    return line.split("\n")
