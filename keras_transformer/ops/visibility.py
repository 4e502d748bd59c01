"""Which keys each query sees, without a whole mask where rules on positions say it."""

from typing import Any

from keras import ops

from keras_transformer.ops import masks


class Visibility:
    """A mask, and rules on positions that become masks of those query steps only that are looked at.

    Axes: B batch, T query steps, S key steps, N heads.

    Args:
        mask: Boolean `[B, N, T, S]` with sizes of 1 for what broadcasts, or None.
        query_positions, key_positions: Int32 `[T]` and `[S]`, from 0 on.
        causal: Whether a query sees keys up to its own position only.
        window: If given, a query sees keys less than this many positions away only.
    """

    def __init__(
        self, mask: Any, query_positions: Any, key_positions: Any, causal: bool = False, window: int | None = None
    ):
        self.mask = mask
        self.query_positions = query_positions
        self.key_positions = key_positions
        self.causal = causal
        self.window = window

    def rows(self, start: Any = None, steps: Any = None) -> Any:
        """The mask of query steps `start` to `start + steps`, or of all; None where nothing is hidden."""
        mask, positions = self.mask, self.query_positions
        if start is not None:
            positions = ops.slice(positions, (start,), (steps,))
            if mask is not None and mask.shape[2] != 1:
                batch, heads, _, keys = ops.shape(mask)
                mask = ops.slice(mask, (0, 0, start, 0), (batch, heads, steps, keys))
        return masks.merge(mask, *(ops.expand_dims(rule, (0, 1)) for rule in self._rules(positions)))

    def visible_rows(self) -> Any:
        """Boolean `[B, N, T, 1]`: queries that see at least one key; None if all do."""
        if self.every_query_sees:
            return None
        return masks.visible_rows(self.rows())

    def padded(self, steps: Any) -> "Visibility":
        """The same with further query steps behind, `steps` in all, of which nothing is expected."""
        mask = self.mask
        if mask is not None and mask.shape[2] != 1:
            mask = _extended(mask, steps, 2)
        return Visibility(mask, _extended(self.query_positions, steps, 0), self.key_positions, self.causal, self.window)

    @property
    def has_rules(self) -> bool:
        """Whether positions decide, beside or without a mask."""
        return self.causal or self.window is not None

    @property
    def every_query_sees(self) -> bool:
        """Whether each query is sure to see a key: the first one is in nobody's future."""
        return self.mask is None and self.window is None

    def _rules(self, positions):
        ahead = ops.expand_dims(self.key_positions, 0) - ops.expand_dims(positions, 1)
        if self.causal:
            yield ahead <= 0
        if self.window is not None:
            yield ops.abs(ahead) < self.window


def _extended(x, size, axis):
    """x with zeros behind along one axis."""
    shape = [*ops.shape(x)]
    shape[axis] = size - shape[axis]
    return ops.concatenate([x, ops.zeros(shape, x.dtype)], axis=axis)
