"""Rules that examples of a corpus must keep to, each with a name and a count of what it leaves out. No Beam."""

import functools
import hashlib
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from zoo.extras import require

Sides = tuple[str, ...]  # The text of a plain corpus, or source and target.

_LETTERS = 0.5  # Least share of letters among the characters that are no spaces.
_SCRIPT = 0.7  # Least share of letters of the script of the language.
_SHORT = 15  # Characters; the shorter side of short pairs may be relatively long.
_IDENTIFIED = 25  # Characters from which on languages are identified.
_LIKELIER = 4  # Times; an identified language must be that much more probable than the expected one.
_MARKS, _NUMBER = re.compile(r"[\W_]+"), re.compile(r"\d+")
_SCRIPTS = {
    "ARABIC": ("ar", "fa", "ps", "ug", "ur"),
    "ARMENIAN": ("hy",),
    "BENGALI": ("as", "bn"),
    "CJK": ("zh",),
    "CYRILLIC": ("be", "bg", "kk", "ky", "mk", "mn", "ru", "sr", "uk"),
    "DEVANAGARI": ("hi", "mr", "ne"),
    "GEORGIAN": ("ka",),
    "GREEK": ("el",),
    "GUJARATI": ("gu",),
    "GURMUKHI": ("pa",),
    "HANGUL": ("ko",),
    "HEBREW": ("he",),
    "KANNADA": ("kn",),
    "KHMER": ("km",),
    "LAO": ("lo",),
    "MALAYALAM": ("ml",),
    "ORIYA": ("or",),
    "SINHALA": ("si",),
    "TAMIL": ("ta",),
    "TELUGU": ("te",),
    "THAI": ("th",),
    "ETHIOPIC": ("am",),
}
_JAPANESE = ("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA")


@dataclass(frozen=True)
class Rules:
    """Rules of one preparation.

    Args:
        names: Names of the rules, of `RULES`.
        languages: ISO 639-1 codes of the sides, such as ("en", "de"), for the rules `script` and `language`.
        max_characters: The longest side that the rule `length` keeps.
        max_ratio: How many times as many characters as the other side a side may have by the rule `ratio`.
        held_out: Keys of the texts of test sets, as `text_key` returns them, for the rule `overlap`.
    """

    names: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    max_characters: int = 1000
    max_ratio: float = 3.0
    held_out: frozenset[bytes] = frozenset()

    def check(self, num_sides: int) -> None:
        """Raises `ValueError` if a rule is unknown, or does not fit the corpus or the other arguments."""
        unknown = [name for name in self.names if name not in RULES]
        if unknown or len({*self.names}) < len(self.names):
            raise ValueError(f"Rules must be different ones of {', '.join(RULES)}. Received: {', '.join(self.names)}.")
        pairs = [name for name in self.names if name in _OF_PAIRS]
        if pairs and num_sides == 1:
            raise ValueError(f"The rules of plain texts must not be of pairs. Received: {', '.join(pairs)}.")
        need = [name for name in self.names if name in _OF_LANGUAGES]
        if need and len(self.languages) != num_sides:
            raise ValueError(
                f"The rules {' and '.join(need)} need the language of each side, {num_sides} in all. Received: "
                f"{', '.join(self.languages) or 'none'}. Pass codes, such as en de, or leave these rules out."
            )
        if self.max_characters < 1 or self.max_ratio < 1:
            raise ValueError(
                "`max_characters` and `max_ratio` must be at least 1. "
                f"Received: {self.max_characters} and {self.max_ratio}."
            )
        if "encoding" in self.names:
            require("The rule encoding", "ftfy")
        if "language" in self.names:
            require("The rule language", "py3langid")
            unknown = {*self.languages} - {*_identifier().labels}
            if unknown:
                raise ValueError(
                    f"The rule language must have languages that py3langid knows: "
                    f"{', '.join(sorted(_identifier().labels))}. Received: {', '.join(sorted(unknown))}."
                )

    def broken_by(self, sides: Sides) -> str | None:
        """Returns the name of the first rule that an example breaks; None if it keeps to all of them."""
        return next((name for name in RULES if name in self.names and RULES[name](self, sides)), None)


def default_rules(num_sides: int, languages: Sequence[str]) -> tuple[str, ...]:
    """Returns the names of all rules that fit a corpus."""
    left_out = {*(_OF_PAIRS if num_sides == 1 else ()), *(() if languages else _OF_LANGUAGES), "overlap"}
    return tuple(name for name in RULES if name not in left_out)


def text_key(text: str) -> bytes:
    """Returns a hash of what is left of a text without case, spaces, marks, and the values of its numbers."""
    return _hash(_plain(text))


def example_key(sides: Sides, near: bool) -> bytes:
    """Returns a hash that is the same for the same examples or, with `near`, for those that are nearly the same."""
    return _hash("\0".join(map(_plain, sides) if near else sides))


def _plain(text):
    folded = (text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold()
    return _NUMBER.sub("0", _MARKS.sub("", folded)) or folded


def _hash(text):
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()


def _is_garbled(rules, sides):
    """Whether a character shows that a text was decoded wrongly, or it has characters that are no text."""
    from ftfy.badness import is_bad

    return any(any(map(_is_no_text, {*text})) or is_bad(text) for text in sides)


@functools.lru_cache(maxsize=1 << 16)
def _is_no_text(character):
    return character == "\ufffd" or (character != "\t" and unicodedata.category(character) in ("Cc", "Co", "Cn"))


def _is_too_long(rules, sides):
    return any(len(text) > rules.max_characters for text in sides)


def _lacks_letters(rules, sides):
    """Whether a side is mostly numbers and marks."""
    return any(_count_letters(text) < _LETTERS * len("".join(text.split())) for text in sides)


def _count_letters(text):
    return sum(map(str.isalpha if text.isascii() else _is_letter, text))


@functools.lru_cache(maxsize=1 << 16)
def _is_letter(character):
    return unicodedata.category(character)[0] in "LM"  # Indic vowels are marks.


def _is_unequal(rules, sides):
    shorter, longer = sorted(len(text.strip()) for text in sides)
    return longer > rules.max_ratio * max(shorter, _SHORT / rules.max_ratio)


def _is_copy(rules, sides):
    source, target = sides
    return source.strip().casefold() == target.strip().casefold()


def _has_other_script(rules, sides):
    return any(_script_share(text, _scripts_of(code)) < _SCRIPT for text, code in zip(sides, rules.languages))


def _script_share(text, scripts):
    if text.isascii() and "LATIN" in scripts:
        return 1.0
    letters = [*filter(str.isalpha, text)]
    return sum(_script(letter) in scripts for letter in letters) / len(letters) if letters else 1.0


@functools.lru_cache(maxsize=1 << 16)
def _script(letter):
    return unicodedata.name(letter, "").split(" ")[0]


@functools.cache
def _scripts_of(language):
    if language == "ja":
        return _JAPANESE
    return tuple(script for script, codes in _SCRIPTS.items() if language in codes) or ("LATIN",)


def _has_other_language(rules, sides):
    return any(_is_other_language(text, code) for text, code in zip(sides, rules.languages))


def _is_other_language(text, code):
    if len(text) < _IDENTIFIED:
        return False
    found, probability = _identifier().classify(text)
    return found != code and probability > _LIKELIER * dict(_identifier().rank(text))[code]


@functools.cache
def _identifier():
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def _is_held_out(rules, sides):
    return any(text_key(text) in rules.held_out for text in sides)


# In the order in which they are tried. Duplicates are found later, among the examples that keep to all others.
RULES: dict[str, Callable[[Rules, Sides], bool]] = {
    "encoding": _is_garbled,
    "length": _is_too_long,
    "letters": _lacks_letters,
    "ratio": _is_unequal,
    "copy": _is_copy,
    "script": _has_other_script,
    "language": _has_other_language,
    "overlap": _is_held_out,
    "duplicate": lambda rules, sides: False,
    "near_duplicate": lambda rules, sides: False,
}
_OF_PAIRS = "ratio", "copy"
_OF_LANGUAGES = "script", "language"


class Duplicates:
    """Finds duplicates among examples in the order of the corpus: the first one is kept."""

    def __init__(self, rules: Rules):
        nearness = {"duplicate": False, "near_duplicate": True}
        self._seen = {name: (near, set()) for name, near in nearness.items() if name in rules.names}

    def rule(self, sides: Sides) -> str | None:
        """Returns the name of the rule that an example breaks, and remembers it otherwise."""
        keys = {name: example_key(sides, near) for name, (near, _) in self._seen.items()}
        for name, key in keys.items():
            if key in self._seen[name][1]:
                return name
        for name, key in keys.items():
            self._seen[name][1].add(key)
        return None
