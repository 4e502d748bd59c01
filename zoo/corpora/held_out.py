"""Division of one corpus into a training set and a dev set. No Keras."""

import copy
import hashlib
from typing import Any, NamedTuple


class Part(NamedTuple):
    """The texts of one part of a corpus, selected by their hashes: the same at each start and in any order of lines.

    Args:
        share: Expected share of the dev set, between 0 and 1.
        dev: Whether this is the dev set; otherwise it is the rest.
    """

    share: float
    dev: bool

    def __call__(self, text: str) -> bool:
        """Returns whether the part contains the examples of this text."""
        number = int.from_bytes(hashlib.sha256(text.strip().encode("utf-8", "replace")).digest()[:8])
        return (number < self.share * 2**64) == self.dev


def hold_out(reader: Any, share: float) -> tuple[Any, Any]:
    """Divides the corpus of a reader into a training set and a dev set, which have no text in common.

    Args:
        reader: A `zoo.corpora.reading.Reader` or `zoo.parsing.data.TreeReader`.
        share: Expected share of the dev set, such as 0.02.

    Returns:
        Two readers.

    Raises:
        ValueError: If `share` is not between 0 and 1.
    """
    if not 0 < share < 1:
        raise ValueError(f"`dev_share` must be between 0 and 1. Received: {share}. Pass a share such as 0.02.")
    train, dev = copy.copy(reader), copy.copy(reader)
    train.part, dev.part = Part(share, dev=False), Part(share, dev=True)
    return train, dev
