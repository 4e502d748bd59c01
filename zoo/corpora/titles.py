"""Titles before the names of sentence pairs in English, German and French, and names that are words. No Keras."""

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass

from zoo.corpora.copied_text import random_name
from zoo.corpora.word_links import WORD

Pair = tuple[str, str]

_TITLES = {  # In the same order in all languages.
    "en": ("Mr.", "Mrs.", "Ms.", "Miss", "Dr.", "Professor"),
    "de": ("Herr", "Frau", "Frau", "Frau", "Dr.", "Professor"),
    "fr": ("Monsieur", "Madame", "Madame", "Mademoiselle", "Dr", "Professeur"),
}
_BEFORE = {  # What may stand before a name whose bearer is named by a title.
    "en": r"(?:Mr|Mrs|Ms|Dr)\.? |Miss |Professor ",
    "de": r"Herrn? |Frau |Fräulein |Dr\. |Professor ",
    "fr": r"M\. |Mme |Monsieur |Madame |Mademoiselle |Dr |Docteur |Professeur ",
}
_AFTER = r"(?:mit|von|für|zu|bei|an|auf|gegen|ohne|nach|vor|über|um|aus) "  # German words before "Herrn".


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
        German "Herr" has an ending but in the nominative: it begins sentences, and "Herrn" follows prepositions.
        """
        words = [WORD.findall(text) for text in pair]
        for name in sorted(names.intersection(words[0]).intersection(words[1])):
            if all(text.count(name) == 1 for text in pair):
                new = rng.choice(self.words) if rng.random() < 0.5 else random_name(rng)
                sides = [*zip(pair, self.languages)]
                german = "".join(text for text, language in sides if language == "de")
                ending = re.search(rf"\b{_AFTER}{re.escape(name)}", german) is not None
                any_title = "de" not in self.languages or ending or all(text.startswith(name) for text in pair)
                number = rng.randrange(0 if any_title else 1, len(_TITLES["en"]))
                return tuple(_titled(text, name, new, number, language, ending) for text, language in sides)
        return pair


def _titled(text, name, new, number, language, ending):
    """Replaces a name by another one, with a title unless it has one."""
    has_title = re.search(rf"\b(?:{_BEFORE[language]}){re.escape(name)}", text)
    title = "Herrn" if ending and language == "de" and number == 0 else _TITLES[language][number]
    return text.replace(name, new if has_title else f"{title} {new}")
