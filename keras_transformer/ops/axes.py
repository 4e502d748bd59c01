"""Attention over selected axes of inputs with several axes of steps."""

from collections.abc import Sequence
from typing import Any

from keras import ops


class AttentionAxes:
    """Folds inputs `[B, ..., D]` to `[B', T, D]`: attended axes become steps, the others rows. Unfolds outputs.

    Args:
        axes: Attended axes of the inputs; None for all but the first and the last.
        rank: Number of axes of the inputs.

    Raises:
        ValueError: If an axis is the first or the last of the inputs, outside of them, or repeated.
    """

    def __init__(self, axes: Sequence[int] | None, rank: int):
        found = tuple(range(1, rank - 1)) if axes is None else tuple(a + rank if a < 0 else a for a in axes)
        if not found or not all(0 < axis < rank - 1 for axis in found) or len(set(found)) < len(found):
            raise ValueError(
                f"`attention_axes` must be different axes between the first and the last of the inputs. "
                f"Received: attention_axes={axes}, inputs with {rank} axes."
            )
        self.attended = found
        self.others = tuple(axis for axis in range(rank - 1) if axis not in found)

    @property
    def plain(self) -> bool:
        """Whether inputs are `[B, T, D]` already."""
        return self.attended == (1,) and self.others == (0,)

    def fold(self, x: Any) -> Any:
        """Folds inputs `[B, ..., D]` to `[B', T, D]`, or their padding mask `[B, ...]` to `[B', T]`."""
        if x is None:
            return None
        shape, last = ops.shape(x), tuple(range(len(self.attended) + len(self.others), len(x.shape)))
        x = ops.transpose(x, (*self.others, *self.attended, *last))
        return ops.reshape(
            x, (self._size(shape, self.others), self._size(shape, self.attended), *shape[len(shape) - len(last) :])
        )

    def unfold(self, x: Any, inputs: Any) -> Any:
        """Unfolds outputs `[B', T, D']` to the axes of the folded inputs, `[B, ..., D']`."""
        shape, order = ops.shape(inputs), (*self.others, *self.attended)
        x = ops.reshape(x, (*(shape[axis] for axis in order), x.shape[-1]))
        return ops.transpose(x, (*(order.index(axis) for axis in range(len(order))), len(order)))

    def unfold_scores(self, scores: Any, query: Any, value: Any) -> Any:
        """Unfolds weights `[B', N, T, S]` to rows, heads, query steps and key steps, each in all their axes."""
        shape, keys = ops.shape(query), ops.shape(value)
        rows, steps = [shape[a] for a in self.others], [shape[a] for a in self.attended]
        return ops.reshape(scores, (*rows, ops.shape(scores)[1], *steps, *(keys[a] for a in self.attended)))

    def fold_mask(self, mask: Any, query: Any, value: Any, heads: int) -> Any:
        """Folds a mask over rows, heads, query steps and key steps, each in all their axes, to `[B', N, T', S']`.

        The last axes of rows and heads may be missing, as in Keras, or all of them; a size of 1 broadcasts.
        """
        if mask is None:
            return None
        shape, keys = ops.shape(query), ops.shape(value)
        rows, steps = [shape[a] for a in self.others], [shape[a] for a in self.attended]
        sources = [keys[a] for a in self.attended]
        full, given = [*rows, heads, *steps, *sources], list(ops.shape(mask))
        pairs = len(steps) + len(sources)
        if not pairs <= len(given) <= len(full):
            raise ValueError(
                f"`attention_mask` must have from {pairs} to {len(full)} axes: rows, heads, query steps, key steps. "
                f"Received: shape={tuple(mask.shape)}."
            )
        given[len(given) - pairs : len(given) - pairs] = [1] * (len(full) - len(given))
        mask = ops.broadcast_to(ops.reshape(mask, given), full)
        return ops.reshape(mask, (_product(rows), heads, _product(steps), _product(sources)))

    def _size(self, shape, axes):
        return _product(shape[axis] for axis in axes)


def _product(sizes):
    found = 1
    for size in sizes:
        found = found * size
    return found
