"""The words of a training corpus, which tell names that a translator should keep from words that it can translate.

A model of subwords spells unseen names piece by piece, and sometimes wrongly: "Sunniva" becomes "Soleniva". It cannot
if a placeholder (`zoo.text.placeholders`) stands for the name; but a word that the corpus does not have may also be
a rare word or a typing error, which the model translates well. So such texts are translated both ways, and
`KnownWords.prefers_kept` chooses. What follows a title is a name even if it is a known word, as Mrs. Baker's.

The regular expressions are read alike by Python and TensorFlow's RE2.
"""

import functools
import itertools
import re
from collections import Counter
from collections.abc import Iterable

from zoo.text.case_markup import UPPER
from zoo.text.characters import LOWER, SPACE, character_ranges
from zoo.text.number_words import number_in_words
from zoo.text.placeholders import BEGIN, LOST, hide_matches

_LETTERS = f"A-Za-z{character_ranges('L')}"
_PART, _NAME_PART = f"[{_LETTERS}]+", f"[{UPPER}][{_LETTERS}]+"
WORD = f"{_PART}(?:-{_PART})*"
NAME = f"{_NAME_PART}(?:-{_NAME_PART})*"
"""What a name matches as a whole: words of at least two letters with a capital, joined by hyphens."""
DOUBLE_NAME = f"{_NAME_PART}(?:-{_NAME_PART})+"
"""A name such as Anne-Marie, which is unseen even if its parts are known."""
_TITLES = (  # English, German and French.
    "(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor|Herr|Herrn|Frau|Fräulein|Doktor|M|Mme|Mlle|Monsieur|Madame|Mademoiselle|"
    f"Docteur|Professeur)\\.?{SPACE}+"
)
_OFFICES = (  # What is translated behind a title.
    "Dr|Doktor|Prof|Professor|Professorin|Präsident|Präsidentin|Minister|Ministerin|Kanzler|Kanzlerin|Bundeskanzler|"
    "Bundeskanzlerin|Direktor|Direktorin|Vorsitzender|Vorsitzende|Vorsitzenden|Bürgermeister|Bürgermeisterin|Richter|"
    "Richterin|Lehrer|Lehrerin|Kollege|Kollegin|Pfarrer|General|Oberst|Ober|President|Vice|Prime|Speaker|Chairman|"
    "Chairwoman|Secretary|Mayor|Ambassador|Docteur|Professeur|Président|Présidente|Ministre|Directeur|Directrice"
)
MARKS = [
    (BEGIN, LOST),
    (f"(^|[^{_LETTERS}])((?:{_TITLES})+)({NAME})", rf"\1\2{BEGIN}\3"),
    (f"{BEGIN}((?:{_OFFICES})(?:[^{_LETTERS}]|$))", r"\1"),
]
"""Replacements in order, which put `BEGIN` before each name that follows a title."""
MARKED_WORD = f"{BEGIN}?{WORD}"
HAS_TITLE = f"(?s)(?:.*[^{_LETTERS}])?{_TITLES}.*"
SMALL = f"[{LOWER}]"
MARGIN = 1.5
"""Difference of scores from which a translation with placeholders is taken although that without is all known words."""
_MOST = 100_000
# In German, each number is one word, and a corpus has few of them.
_NUMBERS = frozenset(number_in_words(number, "de") for number in range(1000))

WORDS, _NAME, _DOUBLE_NAME, _SMALL = map(re.compile, (WORD, NAME, DOUBLE_NAME, SMALL))
_MARKED_WORDS, _HAS_TITLE = re.compile(MARKED_WORD), re.compile(HAS_TITLE)
_MARKS = [(re.compile(pattern), replacement) for pattern, replacement in MARKS]


def most_frequent_words(texts: Iterable[str], most: int = _MOST) -> str:
    """Returns the `most` most frequent words of texts for `KnownWords`; of words with hyphens also the parts."""
    counts = Counter(itertools.chain.from_iterable(WORDS.findall(text) for text in texts))
    merged = Counter()
    for word, count in counts.items():
        for known in {word.lower(), *word.lower().split("-")}:
            merged[known] += count
    frequent = sorted(merged, key=lambda word: (-merged[word], word))[:most]
    return " ".join(sorted(frequent))


def merge_words(*words: str) -> str:
    """Returns the words of several strings for `KnownWords`, each once."""
    return " ".join(sorted({word for several in words for word in several.split()}))


def with_numbers(words: str) -> frozenset[str]:
    """Returns words that are separated by spaces, and German numbers: "Siebenundsiebzig Leute" begins with no name."""
    return _NUMBERS.union(words.split())


def check_known_words(words: str, placeholders: bool) -> str:
    """Returns the argument `known_words` of a translator, which it needs placeholders for; raises `ValueError`."""
    if not isinstance(words, str) or (words and not placeholders):
        raise ValueError(
            "`known_words` must be words in a string, of a translator with `placeholders`. Received: "
            f"known_words={words!r:.60}, placeholders={placeholders}. Leave the words out, or train with placeholders."
        )
    return words


class KnownWords:
    """Finds names, and chooses between translations with and without placeholders for them.

    Names are words with a capital that the corpus does not have, and those that follow a title.

    Args:
        words: Words of both languages in small letters, separated by spaces.
        more: Further ones, such as those of a glossary.
    """

    def __init__(self, words: str, more: str = ""):
        self._words = with_numbers(f"{words} {more}")

    @classmethod
    @functools.lru_cache(maxsize=8)
    def of(cls, words: str, more: str = "") -> "KnownWords":
        """Returns the same object for the same words."""
        return cls(words, more)

    def hide_names(self, text: str, kept: list[str]) -> tuple[str, list[str]]:
        """Replaces names in a text that `zoo.text.placeholders.hide` returned by further placeholders.

        Nothing is replaced in a text without small letters, which does not show which words are names.
        """
        if not _SMALL.search(text):
            return text, kept
        text, kept = hide_matches(mark_titled(text), kept, _MARKED_WORDS, self._is_name)
        return text.replace(BEGIN, ""), [part.removeprefix(BEGIN) for part in kept]

    def is_unseen_name(self, word: str) -> bool:
        """Returns whether a word has a capital and is not known."""
        return _NAME.fullmatch(word) is not None and self._is_unseen(word)

    def prefers_kept(self, source: str, plain: tuple[str, float], kept: tuple[str, float]) -> bool:
        """Returns whether the translation with placeholders for names is better than that without.

        It must keep all of them, and the other one lose some. And the other one must have a word that is neither
        known nor of the source, or a score that is lower by `MARGIN`, or a title although it loses a name that follows
        one: "Frau Bäcker" for "Mrs. Baker", but not "my wife flowers" for "meiner Frau Blumen".

        Args:
            source: The source.
            plain, kept: The translation without and with placeholders, which are put back, and its score.
        """
        marked = _MARKED_WORDS.findall(mark_titled(source))
        titled = {word.removeprefix(BEGIN) for word in marked if word.startswith(BEGIN)}
        read = [word.removeprefix(BEGIN) for word in marked]
        names = titled | {word for word in read if self.is_unseen_name(word)}
        plain_words, kept_words = (WORDS.findall(translation) for translation, _ in (plain, kept))
        if names <= {*plain_words} or not names <= {*kept_words}:
            return False
        invented = any(self._is_unseen(word) for word in plain_words if word not in read)
        translated = not titled <= {*plain_words} and _HAS_TITLE.fullmatch(plain[0]) is not None
        return invented or translated or kept[1] > plain[1] + MARGIN

    def _is_name(self, word):
        """Returns whether a word that may begin with `BEGIN` is a name."""
        return word.startswith(BEGIN) or self.is_unseen_name(word)

    def _is_unseen(self, word):
        if word.lower() in self._words:
            return False
        return _DOUBLE_NAME.fullmatch(word) is not None or not self._words.issuperset(word.lower().split("-"))


def mark_titled(text):
    """Returns a text with `BEGIN` before each name that follows a title."""
    for pattern, replacement in _MARKS:
        text = pattern.sub(replacement, text)
    return text
