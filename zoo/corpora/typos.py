"""Typing errors: letters swapped, left out, doubled, or replaced by a neighbour on the keyboard."""

import random
import re

_ROWS = "qwertyuiop", "asdfghjkl", "zxcvbnm"
_WORD = re.compile(r"[^\W\d_]{2,}")


def _neighbours():
    table = {}
    for upper, lower in zip(("", *_ROWS), _ROWS):
        for i, letter in enumerate(lower):
            beside = lower[max(0, i - 1) : i] + lower[i + 1 : i + 2] + upper[i : i + 2]
            table[letter] = table.get(letter, "") + beside
            for other in upper[i : i + 2]:
                table[other] += letter
    return table


NEIGHBOURS = _neighbours()


def mistype(word: str, rng: random.Random) -> str:
    """Returns a word of at least two letters with one typing error."""
    kind, place = rng.choice(("swap", "drop", "double", "neighbour")), rng.randrange(len(word) - 1)
    if kind == "swap":
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    place = rng.randrange(len(word))
    letter = word[place]
    if kind == "drop":
        return word[:place] + word[place + 1 :]
    if kind == "neighbour" and letter.lower() in NEIGHBOURS:
        other = rng.choice(NEIGHBOURS[letter.lower()])
        return word[:place] + (other.upper() if letter.isupper() else other) + word[place + 1 :]
    return word[:place] + letter + word[place:]


def add_typos(text: str, kept: str, count: int, rng: random.Random) -> str:
    """Returns the text with up to `count` words mistyped; none that occurs in the text `kept`, such as names."""
    words = [found for found in _WORD.finditer(text) if found[0] not in kept]
    for found in sorted(rng.sample(words, min(count, len(words))), key=lambda found: -found.start()):
        text = text[: found.start()] + mistype(found[0], rng) + text[found.end() :]
    return text
