"""Rows of token ids of different lengths, stored as two flat arrays. NumPy only."""

import itertools
import typing

import numpy as np

from zoo.config import END_ID


class TokenRows(typing.NamedTuple):
    """Concatenated rows of token ids: row i is `ids[offsets[i]:offsets[i + 1]]`.

    For features of K numbers for each token, `ids` is `[N, K]`.
    """

    ids: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, rows: typing.Sequence[typing.Sequence[int]], dtype: str = "int32") -> "TokenRows":
        """Builds rows from lists of ids."""
        offsets = np.cumsum([0, *map(len, rows)])
        return cls(np.fromiter(itertools.chain.from_iterable(rows), dtype, offsets[-1]), offsets)

    @property
    def lengths(self) -> np.ndarray:
        """Number of tokens of each row, `[rows]`."""
        return np.diff(self.offsets)

    def row(self, number: int) -> np.ndarray:
        """Returns one row."""
        return self.ids[self.offsets[number] : self.offsets[number + 1]]

    def padded(self, rows: np.ndarray, width: int, value: int = 0) -> np.ndarray:
        """Returns the chosen rows as int32 `[B, width]` or `[B, width, K]`, padded with `value`."""
        starts = self.offsets[rows]
        steps = np.arange(width)
        inside = steps < (self.offsets[rows + 1] - starts)[:, None]
        result = np.full((*inside.shape, *self.ids.shape[1:]), value, "int32")
        result[inside] = self.ids[(starts[:, None] + steps)[inside]]
        return result

    def padded_with_end(self, rows: np.ndarray, width: int) -> np.ndarray:
        """Returns the chosen rows as int32 `[B, width]`, each followed by END_ID and padded with zeros."""
        result = self.padded(rows, width)
        result[np.arange(len(rows)), self.offsets[rows + 1] - self.offsets[rows]] = END_ID
        return result


def append_rows(array: np.ndarray, count: int, value: int = 0) -> np.ndarray:
    """Appends `count` rows of `value` to an array `[B, ...]`."""
    return np.pad(array, [(0, count), *[(0, 0)] * (array.ndim - 1)], constant_values=value)
