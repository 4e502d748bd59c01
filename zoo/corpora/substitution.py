"""Replacement of names and numbers on both sides of sentence pairs. No Keras."""

import itertools
import random
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from zoo.corpora.copied_text import random_name, random_number, random_text, random_time
from zoo.corpora.dates import CALENDAR
from zoo.corpora.word_links import WORD
from zoo.text.number_words import LANGUAGES, number_in_words, random_number_in_words

Pair = tuple[str, str]

_RARE = 0.05  # Maximum share of the small form of a word that counts as a name.
_NUMBER = re.compile(r"\d+(?:[.,: ’']\d+)*")
_TIME_WORDS = {"uhr", "heures", "o'clock", "o’clock", "h", "p.m", "a.m", "pm", "am", "at", "um", "à"}

# Numbers in one word, from two on; in other languages, only digits are replaced.
_VALUES = {language: {number_in_words(n, language): n for n in range(2, 100)} for language in LANGUAGES}
_NUMBER_WORDS = {word for values in _VALUES.values() for word in values}


@dataclass(frozen=True)
class Substitution:
    """Replaces names and numbers by random ones.

    Args:
        known: Words that are names.
    """

    known: frozenset[str]

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> "Substitution":
        """Finds the names of a corpus: words with a capital, the same on both sides, that are rare in small letters."""
        counts, both = (Counter(), Counter()), Counter()
        for pair in pairs:
            sides = [set(WORD.findall(text)) for text in pair]
            for count, words in zip(counts, sides):
                count.update(words)
            both.update(word for word in sides[0] & sides[1] if _has_capital(word))
        known = (word for word, count in both.items() if all(c[word.lower()] <= _RARE * count for c in counts))
        return cls(frozenset(known) - CALENDAR)  # April is April in German, too.

    def names(self, pair: Pair, rng: random.Random) -> Pair:
        """Replaces each name that occurs equally often on both sides, mostly by a random name."""
        words = [WORD.findall(text) for text in pair]
        for name in sorted(self.known.intersection(words[0]).intersection(words[1])):
            if {text.count(name) for text in pair} == {words[0].count(name)}:  # No "Tom's" or "Toms" besides.
                kind = rng.random()
                new = random_name(rng) if kind < 0.7 else f"{random_name(rng)} {random_name(rng)}"
                new = random_text(rng) if kind > 0.88 else new
                pair = tuple(text.replace(name, new) for text in pair)
        return pair

    def numbers(self, pair: Pair, rng: random.Random) -> Pair:
        """Replaces numbers that are written in the same digits on both sides, or in words that mean the same."""
        found = [[*_NUMBER.finditer(text)] for text in pair]
        digits = [[re.sub(r"\D", "", number[0]) for number in side] for side in found]
        if digits[0] and Counter(digits[0]) == Counter(digits[1]):
            new = {old: _other_digits(old, rng) for old in dict.fromkeys(digits[0])}
            return tuple(_NUMBER.sub(lambda number: _with_digits(number[0], new), text) for text in pair)
        return pair if any(digits) else self.number_words(pair, rng)

    def number_words(self, pair: Pair, rng: random.Random) -> Pair:
        """Replaces a number that is written in one word on both sides."""
        words = [[word for word in WORD.finditer(text) if word[0].lower() in _NUMBER_WORDS] for text in pair]
        if [len(side) for side in words] != [1, 1]:
            return pair
        (first,), (second,) = words
        languages = _languages_of(first[0].lower(), second[0].lower())
        if not languages:
            return pair
        near = {word.lower() for text, word in zip(pair, (first, second)) for word in _neighbours(text, word)}
        if len(languages) == 1 and not near & _TIME_WORDS and rng.random() < 0.5:
            number = random_number_in_words(rng)
            sides = zip(pair, (first, second), languages[0])
            return tuple(_with_word(text, word, number_in_words(number, language)) for text, word, language in sides)
        new = random_time(rng) if near & _TIME_WORDS and rng.random() < 0.7 else random_number(rng)
        if rng.random() < 0.15:  # Of two numbers in a row, such as "À 7:45, 64 chaises", none must get lost.
            new = f"{random_time(rng)}{rng.choice([' ', ', '])}{new}"
        return tuple(_with_word(text, word, new) for text, word in zip(pair, (first, second)))


def _languages_of(first, second):
    """Returns the pairs of languages in which two words mean the same number; several for six, which is French, too."""
    both = itertools.permutations(LANGUAGES, 2)
    return [(a, b) for a, b in both if _VALUES[a].get(first, a) == _VALUES[b].get(second, b)]


def _with_word(text, word, new):
    """Replaces a match of a word, with a capital if that has one."""
    new = new.capitalize() if word[0][0].isupper() else new
    return text[: word.start()] + new + text[word.end() :]


def _has_capital(word):
    return len(word) > 1 and word[0].isupper() and word[1:].islower()


def _neighbours(text, word):
    return (text[: word.start()].split() or [""])[-1].strip(".,"), (text[word.end() :].split() or [""])[0].strip(".,?!")


def _other_digits(old, rng):
    if int(old) < 2:  # One takes a singular.
        return old
    first = rng.randrange(2 if len(old) == 1 else 1, 10) if old[0] != "0" else 0
    return str(first) + "".join(str(rng.randrange(10)) for _ in old[1:])


def _with_digits(number, new):
    digits = iter(new[re.sub(r"\D", "", number)])
    return re.sub(r"\d", lambda _: next(digits), number)
