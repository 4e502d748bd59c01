"""Characters of words: what a vocabulary of subwords does not tell of capitals, endings and rare words. No Keras."""

import functools
from collections.abc import Sequence

import numpy as np

from zoo.config import NUM_CHARACTERS

NONE, BEGIN, END = range(3)
LONGEST = 18  # Of a longer word, both ends.
WIDTH = LONGEST + 2
_FIRST = END + 1


def word_characters(words: Sequence[str]) -> np.ndarray:
    """Words as numbers of characters between BEGIN and END, padded with NONE: int32 `[W, WIDTH]`.

    Characters share `NUM_CHARACTERS` numbers; those of most alphabets have one for themselves. Of a word of more than
    LONGEST characters, as many at the two ends are kept.
    """
    return np.array([_characters(word) for word in words], "int32").reshape(-1, WIDTH)


@functools.lru_cache(maxsize=100_000)
def _characters(word):
    half = LONGEST // 2
    kept = word if len(word) <= LONGEST else word[:half] + word[-half:]
    numbers = (_FIRST + ord(character) % (NUM_CHARACTERS - _FIRST) for character in kept)
    return BEGIN, *numbers, END, *[NONE] * (LONGEST - len(kept))
