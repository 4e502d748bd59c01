"""Rows of token ids of any lengths as two flat arrays. NumPy only."""

import itertools
import typing

import numpy as np

from zoo.config import END_ID


class TokenRows(typing.NamedTuple):
    """Rows of token ids one behind the other: row i is `ids[offsets[i]:offsets[i + 1]]`.

    What belongs to tokens can be more than one number each: then `ids` is `[N, K]`.
    """

    ids: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, rows: typing.Sequence[typing.Sequence[int]], dtype: str = "int32") -> "TokenRows":
        """Flattens lists of ids."""
        offsets = np.cumsum([0, *map(len, rows)])
        return cls(np.fromiter(itertools.chain.from_iterable(rows), dtype, offsets[-1]), offsets)

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each row, `[rows]`."""
        return np.diff(self.offsets)

    def padded(self, rows: np.ndarray, width: int, value: int = 0) -> np.ndarray:
        """The chosen rows as int32 `[B, width]`, or `[B, width, K]`, with `value` behind their ends."""
        starts = self.offsets[rows]
        steps = np.arange(width)
        inside = steps < (self.offsets[rows + 1] - starts)[:, None]
        result = np.full((*inside.shape, *self.ids.shape[1:]), value, "int32")
        result[inside] = self.ids[(starts[:, None] + steps)[inside]]
        return result

    def with_end(self, rows: np.ndarray, width: int) -> np.ndarray:
        """The chosen rows as int32 `[B, width]`, each with END_ID, zero behind."""
        result = self.padded(rows, width)
        result[np.arange(len(rows)), self.offsets[rows + 1] - self.offsets[rows]] = END_ID
        return result


def with_rows(array: np.ndarray, count: int, value: int = 0) -> np.ndarray:
    """The array `[B, ...]` and `count` rows of `value`."""
    return np.pad(array, [(0, count), *[(0, 0)] * (array.ndim - 1)], constant_values=value)
