"""Glossaries: terms whose translations are given, and which placeholders stand for (`zoo.text.placeholders`).

A term is found as whole words, as it is written, with a capital, or in capitals, which its translation then has, too;
not behind a title, where it is the name of a person. So a model can be told what a corpus did not teach it, without any
training: names of places and products.

The regular expressions are read alike by Python and TensorFlow's RE2.
"""

import functools
import os
import re
from collections.abc import Mapping

from zoo.text.known_words import MARKED_WORD, WORD, WORDS, mark_titled
from zoo.text.placeholders import BEGIN, END, hide_matches

MARKED = rf"{END}\0{END}"
"""What replaces each `MARKED_WORD` before terms are looked for, in the notation of RE2."""
MARKS = f"[{BEGIN}{END}]"
MOST_TERMS = 1000
_MARKED_WORDS = re.compile(MARKED_WORD)
_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$]")


class Glossary:
    """Replaces terms by placeholders.

    Args:
        terms: The translation of each term.
    """

    def __init__(self, terms: Mapping[str, str]):
        self.terms = dict(terms)
        for change in (_with_capital, str.upper):
            for term, translation in terms.items():
                self.terms.setdefault(change(term), change(translation))
        self.pattern = "|".join(map(_pattern, sorted(self.terms, key=len, reverse=True)))
        """Matches the terms, the longest first, in a text that `MARKED` changed."""
        self._pattern = re.compile(self.pattern)
        self.words = words_of(terms)

    @classmethod
    @functools.lru_cache(maxsize=8)
    def of(cls, terms: tuple[tuple[str, str], ...]) -> "Glossary":
        """Returns the same object for the same items of `terms`."""
        return cls(dict(terms))

    def hide(self, text: str, kept: list[str]) -> tuple[str, list[str]]:
        """Replaces terms in a text that `zoo.text.placeholders.hide` returned by further placeholders."""
        marked = _MARKED_WORDS.sub(rf"{END}\g<0>{END}", mark_titled(text))
        hidden, found = hide_matches(marked, kept, self._pattern)
        terms = (re.sub(MARKS, "", term) for term in found[len(kept) :])
        return re.sub(MARKS, "", hidden), [*kept, *map(self.terms.__getitem__, terms)]


def check_glossary(terms: Mapping[str, str], placeholders: bool) -> dict[str, str]:
    """Returns the argument `glossary` of a translator, which it needs placeholders for.

    Raises:
        ValueError: If it is no mapping of one-line texts to such, or has too many, or `placeholders` is false.
    """
    if not isinstance(terms, Mapping) or len(terms) > MOST_TERMS:
        received = f"{len(terms):,} terms" if isinstance(terms, Mapping) else repr(terms)[:60]
        raise ValueError(
            f"`glossary` must be a dictionary of at most {MOST_TERMS:,} terms and their translations. "
            f"Received: {received}. Pass such a dictionary."
        )
    for term, translation in terms.items():
        for text in (term, translation):
            if not isinstance(text, str) or not text.strip() or text != text.strip() or len(text.splitlines()) != 1:
                raise ValueError(
                    "Terms of `glossary` and their translations must be texts of one line, without spaces around. "
                    f"Received: {term!r:.60}: {translation!r:.60}. Change or remove them."
                )
    if terms and not placeholders:
        raise ValueError(
            f"`glossary` needs a translator with `placeholders`. Received: {len(terms):,} terms, placeholders=False. "
            "Train with training.placeholders=true, as the recipe robust does."
        )
    return dict(terms)


def read_glossary(path: str | os.PathLike) -> dict[str, str]:
    """Reads a tab-separated file, in UTF-8, of terms and their translations; empty lines are skipped.

    Raises:
        ValueError: If a line does not have two columns, a term has two translations, or the file is not in UTF-8.
    """
    terms = {}
    with open(path, "rb") as file:
        for number, content in enumerate(file, start=1):
            try:
                line = content.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise ValueError(
                    f"A glossary must be a text file in UTF-8. Received: {path}, line {number}: {content[:40]!r}. "
                    "Convert it."
                ) from None
            cells = [cell.strip() for cell in line.split("\t")]
            if cells == [""]:
                continue
            if len(cells) != 2 or not all(cells):
                raise ValueError(
                    f"Lines of a glossary must be a term, a tab and its translation. Received: {path}, line {number}: "
                    f"{line.strip()!r:.60}. Correct the line."
                )
            if terms.setdefault(*cells) != cells[1]:
                raise ValueError(
                    f"A term of a glossary must have one translation. Received: {path}, line {number}: {cells[0]!r} as "
                    f"{terms[cells[0]]!r} and as {cells[1]!r}. Remove one."
                )
    return terms


def words_of(terms: Mapping[str, str]) -> str:
    """Returns the words of terms and translations as `zoo.text.known_words.KnownWords` takes them."""
    return " ".join(word.lower() for item in terms.items() for text in item for word in WORDS.findall(text))


def _with_capital(text):
    return text[0].upper() + text[1:]


def _pattern(term):
    words = re.split(f"({WORD})", term)
    return "".join(f"{END}{word}{END}" if i % 2 else _SPECIAL.sub(r"\\\g<0>", word) for i, word in enumerate(words))
