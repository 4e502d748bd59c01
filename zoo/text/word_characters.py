"""Characters of words, which show capitals, endings and rare words better than subwords do. No Keras."""

import functools
from collections.abc import Sequence

import numpy as np

from zoo.config import NUM_CHARACTERS

NONE, BEGIN, END = range(3)
LONGEST = 18  # Characters kept of a word; of longer words, half at each end.
WIDTH = LONGEST + 2
_FIRST = END + 1


def word_characters(words: Sequence[str]) -> np.ndarray:
    """Encodes words as ids of characters between BEGIN and END, padded with NONE: int32 `[W, WIDTH]`.

    All characters of Unicode share `NUM_CHARACTERS` ids; the characters of most alphabets have distinct ids. Of a word
    of more than LONGEST characters, LONGEST / 2 at each end are kept.
    """
    return np.array([_characters(word) for word in words], "int32").reshape(-1, WIDTH)


@functools.lru_cache(maxsize=100_000)
def _characters(word):
    half = LONGEST // 2
    kept = word if len(word) <= LONGEST else word[:half] + word[-half:]
    numbers = (_FIRST + ord(character) % (NUM_CHARACTERS - _FIRST) for character in kept)
    return BEGIN, *numbers, END, *[NONE] * (LONGEST - len(kept))
