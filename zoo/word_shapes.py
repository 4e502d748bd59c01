"""Shapes of words: what a vocabulary that folds case no longer tells. No Keras."""

import unicodedata
from collections.abc import Sequence

from zoo.config import NUM_WORD_SHAPES

NO_WORD, NO_CAPITAL, INITIAL_CAPITAL, ALL_CAPITALS, OTHER_CAPITALS = range(NUM_WORD_SHAPES)


def word_shape(word: str) -> int:
    """NO_CAPITAL ("dog", "-", "3"), INITIAL_CAPITAL ("Dog", "I"), ALL_CAPITALS ("NASA", "AB-1") or OTHER_CAPITALS.

    Capitals are those of Unicode's category Lu. An initial capital is the first letter, and the only capital.
    """
    letters = [category for category in map(unicodedata.category, word) if category.startswith("L")]
    capitals = letters.count("Lu")
    if not capitals:
        return NO_CAPITAL
    if capitals == 1 and letters[0] == "Lu":
        return INITIAL_CAPITAL
    return OTHER_CAPITALS if "Ll" in letters else ALL_CAPITALS


def token_shapes(length: int, firsts: Sequence[int], words: Sequence[str]) -> list[int]:
    """The shape of the word that each of `length` tokens belongs to; NO_WORD at the two ends of a row.

    Args:
        length: Tokens of the row, special ones included.
        firsts: Places of the words' first tokens.
        words: The words.
    """
    shapes = [NO_WORD] * length
    for word, first, after in zip(words, firsts, [*firsts[1:], length - 1]):
        shapes[first:after] = [word_shape(word)] * (after - first)
    return shapes
