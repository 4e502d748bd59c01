"""Titles before the names of sentence pairs in English, German and French, and names that are words. No Keras."""

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass

from zoo.corpora.copied_text import random_name
from zoo.corpora.word_links import WORD

Pair = tuple[str, str]

_TITLES = {  # In the same order in all languages. "Herr" has an ending but in the nominative: where a sentence begins.
    "en": ("Mr.", "Mrs.", "Ms.", "Miss", "Dr.", "Professor"),
    "de": ("Herr", "Frau", "Frau", "Frau", "Dr.", "Professor"),
    "fr": ("Monsieur", "Madame", "Madame", "Mademoiselle", "Dr", "Professeur"),
}
_BEFORE = {  # What may stand before a name whose bearer is named by a title.
    "en": r"(?:Mr|Mrs|Ms|Dr)\.? |Miss |Professor ",
    "de": r"Herrn? |Frau |Fräulein |Dr\. |Professor ",
    "fr": r"M\. |Mme |Monsieur |Madame |Mademoiselle |Dr |Docteur |Professeur ",
}


@dataclass(frozen=True)
class Titles:
    """Gives titles to the names of sentence pairs.

    Args:
        languages: Those of source and target: "en", "de" or "fr".
        words: Words of both sides that become names.
    """

    languages: tuple[str, str]
    words: tuple[str, ...]

    @classmethod
    def of(cls, languages: tuple[str, str], pairs: Iterable[Pair]) -> "Titles":
        """Takes every word of three to ten letters of a corpus as a possible name."""
        words = {word for pair in pairs for text in pair for word in re.findall(r"\b[^\W\d_]{3,10}\b", text)}
        return cls(languages, tuple(sorted({word.capitalize() for word in words})))

    def change(self, pair: Pair, names: frozenset[str], rng: random.Random) -> Pair:
        """Replaces the first of some names that occurs once on both sides by a title with another name.

        Half of the new names are words of the corpus, such as Mrs. Baker, which are not translated behind a title.
        """
        words = [{*WORD.findall(text)} for text in pair]
        for name in sorted(names & words[0] & words[1]):
            if all(text.count(name) == 1 for text in pair):
                new = rng.choice(self.words) if rng.random() < 0.5 else random_name(rng)
                first = all(text.startswith(name) for text in pair)
                number = rng.randrange(0 if first else 1, len(_TITLES["en"]))
                sides = zip(pair, self.languages)
                return tuple(_titled(text, name, new, number, language) for text, language in sides)
        return pair


def _titled(text, name, new, number, language):
    """Replaces a name by another one, with a title unless it has one."""
    has_title = re.search(rf"\b(?:{_BEFORE[language]}){re.escape(name)}", text)
    return text.replace(name, new if has_title else f"{_TITLES[language][number]} {new}")
