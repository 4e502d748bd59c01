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
_SHORT = {"Monsieur": "M.", "Madame": "Mme", "Mademoiselle": "Mlle"}
_BEFORE = {  # What may stand before a name whose bearer is named by a title.
    "en": r"(?:Mr|Mrs|Ms|Dr)\.? |Miss |Professor ",
    "de": r"Herrn? |Frau |Fräulein |Dr\. |Professor ",
    "fr": r"M\. |Mme |Mlle |Monsieur |Madame |Mademoiselle |Dr |Docteur |Professeur ",
}
_AFTER = r"(?:mit|von|für|zu|bei|an|auf|gegen|ohne|nach|vor|über|um|aus) "  # German words before "Herrn".
_CONJUNCTIONS = r"(?:dass|ob|weil|wenn|falls|als|bevor|nachdem|damit|warum|wo|wann) "  # And those before "Herr".
# English and French words behind which a name is the subject, and those behind which it may be anything.
_BEFORE_SUBJECT = (
    "am is are was were isn't wasn't do does did don't doesn't didn't has have had hasn't haven't hadn't will would "
    "won't wouldn't can could can't couldn't shall should must may might that because if when whether while since as "
    "before after where what why how who so than then today yesterday tomorrow now here there maybe perhaps est était "
    "est-ce c'est que quand si comme car puis hier demain aujourd'hui où pourquoi comment"
).split()
_UNCLEAR = "and or but not only even just also both et ou mais pas aussi même".split()


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
        words = [WORD.findall(text) for text in pair]
        for name in sorted(names.intersection(words[0]).intersection(words[1])):
            if all(text.count(name) == 1 for text in pair):
                new = rng.choice(self.words) if rng.random() < 0.5 else random_name(rng)
                german = self.languages.index("de") if "de" in self.languages else None
                mister = "" if german is None else _mister(pair[german], pair[1 - german], name)
                number = rng.randrange(1 if mister is None else 0, len(_TITLES["en"]))
                titles = [_TITLES[language][number] for language in self.languages]
                if german is not None and number == 0:
                    titles[german] = mister
                if self.languages[0] == "fr" and rng.random() < 0.5:  # Translations have the long forms.
                    titles[0] = _SHORT.get(titles[0], titles[0])
                sides = zip(pair, self.languages, titles)
                return tuple(_titled(text, name, new, language, title) for text, language, title in sides)
        return pair


def _mister(german, other, name):
    """Returns the German title of a man, "Herr" or "Herrn" (but for the nominative); None if it is not clear which."""
    if re.search(rf"\b{_AFTER}{re.escape(name)}", german):
        return "Herrn"
    before = other[: other.index(name)].lower().replace("’", "'")
    last = (before.split() or [""])[-1]
    if last in _UNCLEAR or last.endswith("'"):
        return None
    if re.search(rf"\b{_CONJUNCTIONS}{re.escape(name)}", german):
        return "Herr"
    subject = last in _BEFORE_SUBJECT or not last[-1:].isalnum() or re.search("'(?:s|m|re)$", last)
    return "Herr" if subject else "Herrn"


def _titled(text, name, new, language, title):
    """Replaces a name by another one, with a title unless it has one."""
    has_title = re.search(rf"\b(?:{_BEFORE[language]}){re.escape(name)}", text)
    return text.replace(name, new if has_title else f"{title} {new}")
