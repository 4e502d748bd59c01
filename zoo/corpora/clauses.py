"""Two sentence pairs become clauses of one sentence, in English, German and French. No Keras."""

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from zoo.corpora.word_links import WORD

Pair = tuple[str, str]

_SMALL = 0.1  # Least share of the small form of a word that is written small inside of a sentence.
_BETWEEN = {  # In the same order in all languages; none changes the order of words.
    "en": (", and ", ", but ", "; ", ", because ", ", or "),
    "de": (", und ", ", aber ", "; ", ", denn ", ", oder "),
    "fr": (" et ", ", mais ", " ; ", ", car ", " ou "),
}


@dataclass(frozen=True)
class Clauses:
    """Joins two sentences by a conjunction or a semicolon.

    Args:
        languages: Those of source and target: "en", "de" or "fr".
        small: For each side, the words that are written small inside of a sentence.
    """

    languages: tuple[str, str]
    small: tuple[frozenset[str], frozenset[str]]

    @classmethod
    def of(cls, languages: tuple[str, str], pairs: Iterable[Pair]) -> "Clauses":
        """Learns from a corpus which words are written small."""
        counts = Counter(), Counter()
        for pair in pairs:
            for count, text in zip(counts, pair):
                count.update(WORD.findall(text))
        small = (
            {word for word, n in c.items() if word.islower() and n >= _SMALL * c[word.capitalize()]} for c in counts
        )
        return cls(languages, tuple(map(frozenset, small)))

    def join(self, first: Pair, second: Pair, rng: random.Random) -> Pair:
        """Returns one sentence, or both one after the other if the first one does not end with a full stop."""
        if any(
            not text.endswith(".") or text.endswith("..") or not WORD.match(other) for text, other in zip(first, second)
        ):
            return tuple(map(" ".join, zip(first, second)))
        kind = rng.randrange(len(_BETWEEN["en"]))
        sides = zip(first, second, self.languages, self.small)
        return tuple(a[:-1] + _BETWEEN[language][kind] + _continued(b, small) for a, b, language, small in sides)


def _continued(text, small):
    word = WORD.match(text)[0]
    return text[0].lower() + text[1:] if word[0].lower() + word[1:] in small else text
