"""The words of a training corpus, which tell names that a translator has never seen from words that it can translate.

A model of subwords spells unseen names piece by piece, and sometimes wrongly: "Sunniva" becomes "Soleniva". It cannot
if a placeholder (`zoo.text.placeholders`) stands for the name; but a word that the corpus does not have may also be
a rare word or a typing error, which the model translates well. So such texts are translated both ways, and
`KnownWords.prefers_kept` chooses.

The regular expressions are read alike by Python and TensorFlow's RE2.
"""

import functools
import itertools
import re
from collections import Counter
from collections.abc import Iterable

from zoo.text.case_markup import UPPER
from zoo.text.characters import LOWER, character_ranges
from zoo.text.placeholders import hide_matches

_LETTERS = f"A-Za-z{character_ranges('L')}"
_PART, _NAME_PART = f"[{_LETTERS}]+", f"[{UPPER}][{_LETTERS}]+"
WORD = f"{_PART}(?:-{_PART})*"
NAME = f"{_NAME_PART}(?:-{_NAME_PART})*"
"""What a name matches as a whole: words of at least two letters with a capital, joined by hyphens."""
DOUBLE_NAME = f"{_NAME_PART}(?:-{_NAME_PART})+"
"""A name such as Anne-Marie, which is unseen even if its parts are known."""
SMALL = f"[{LOWER}]"
MARGIN = 1.5
"""Difference of scores from which a translation with placeholders is taken although that without is all known words."""
_MOST = 100_000

WORDS, _NAME, _DOUBLE_NAME, _SMALL = map(re.compile, (WORD, NAME, DOUBLE_NAME, SMALL))


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


def check_known_words(words: str, placeholders: bool) -> str:
    """Returns the argument `known_words` of a translator, which it needs placeholders for; raises `ValueError`."""
    if not isinstance(words, str) or (words and not placeholders):
        raise ValueError(
            "`known_words` must be words in a string, of a translator with `placeholders`. Received: "
            f"known_words={words!r:.60}, placeholders={placeholders}. Leave the words out, or train with placeholders."
        )
    return words


class KnownWords:
    """Finds names that a corpus does not have, and chooses between translations with and without placeholders for them.

    Args:
        words: Words of both languages in small letters, separated by spaces.
    """

    def __init__(self, words: str):
        self._words = frozenset(words.split())

    @classmethod
    @functools.lru_cache(maxsize=8)
    def of(cls, words: str) -> "KnownWords":
        """Returns the same object for the same words."""
        return cls(words)

    def hide_unseen_names(self, text: str, kept: list[str]) -> tuple[str, list[str]]:
        """Replaces unseen names in a text that `zoo.text.placeholders.hide` returned by further placeholders.

        Nothing is replaced in a text without small letters, which does not show which words are names.
        """
        return hide_matches(text, kept, WORDS, self.is_unseen_name) if _SMALL.search(text) else (text, kept)

    def is_unseen_name(self, word: str) -> bool:
        """Returns whether a word has a capital and is not known."""
        return _NAME.fullmatch(word) is not None and self._is_unseen(word)

    def prefers_kept(self, source: str, plain: tuple[str, float], kept: tuple[str, float]) -> bool:
        """Returns whether the translation with placeholders for unseen names is better than that without.

        It must keep all of them, and the other one lose some. And the other one must have a word that is neither
        known nor of the source, or a score that is lower by `MARGIN`.

        Args:
            source: The source.
            plain, kept: The translation without and with placeholders, which are put back, and its score.
        """
        read = WORDS.findall(source)
        names = {word for word in read if self.is_unseen_name(word)}
        plain_words, kept_words = (WORDS.findall(translation) for translation, _ in (plain, kept))
        if names <= {*plain_words} or not names <= {*kept_words}:
            return False
        invented = any(self._is_unseen(word) for word in plain_words if word not in read)
        return invented or kept[1] > plain[1] + MARGIN

    def _is_unseen(self, word):
        if word.lower() in self._words:
            return False
        return _DOUBLE_NAME.fullmatch(word) is not None or not self._words.issuperset(word.lower().split("-"))
