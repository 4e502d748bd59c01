"""Which keys each query sees: a mask, and rules on positions that need no whole mask."""

from typing import Any

from keras import ops

from keras_transformer.ops import masks


class Visibility:
    """A mask, and rules on positions, which become masks of the requested query steps only.

    Axes: B batch, T query steps, S key steps, N heads.

    Args:
        mask: Boolean `[B, N, T, S]` with sizes of 1 for what broadcasts, or None.
        query_positions, key_positions: Int32 `[T]` and `[S]`, from 0 on.
        causal: Whether a query sees keys up to its own position only.
        window: If given, a query sees keys less than this many positions away only.
        to_itself: Whether queries and keys are the same steps, at the same positions.
    """

    def __init__(
        self,
        mask: Any,
        query_positions: Any,
        key_positions: Any,
        causal: bool = False,
        window: int | None = None,
        to_itself: bool = False,
    ):
        self.mask = mask
        self.query_positions = query_positions
        self.key_positions = key_positions
        self.causal = causal
        self.window = window
        self.to_itself = to_itself

    def rows(self, start: Any = None, steps: Any = None) -> Any:
        """Returns the mask of query steps `start` to `start + steps`, or of all; None if nothing is hidden."""
        mask, positions = self.mask, self.query_positions
        if start is not None:
            positions = ops.slice(positions, (start,), (steps,))
            if mask is not None and mask.shape[2] != 1:
                batch, heads, _, keys = ops.shape(mask)
                mask = ops.slice(mask, (0, 0, start, 0), (batch, heads, steps, keys))
        if not self.has_rules:
            return mask
        return masks.merge(mask, masks.rule(self.key_positions, positions, self.causal, self.window))

    def visible_rows(self) -> Any:
        """Returns boolean `[B, N, T, 1]`, True at queries that see at least one key; None if all do."""
        if self.every_query_sees:
            return None
        return masks.visible_rows(self.rows())

    def padded(self, steps: Any) -> "Visibility":
        """Returns a copy with query steps appended, `steps` in all; what the appended ones see is not specified."""
        mask = self.mask
        if mask is not None and mask.shape[2] != 1:
            mask = _extended(mask, steps, 2)
        return Visibility(mask, _extended(self.query_positions, steps, 0), self.key_positions, self.causal, self.window)

    @property
    def has_rules(self) -> bool:
        """Whether there are rules on positions, with or without a mask."""
        return self.causal or self.window is not None

    @property
    def every_query_sees(self) -> bool:
        """Whether each query is certain to see a key, as no causal rule hides the first one."""
        return self.mask is None and self.window is None


def _extended(x, size, axis):
    """Appends zeros to x along one axis."""
    shape = [*ops.shape(x)]
    shape[axis] = size - shape[axis]
    return ops.concatenate([x, ops.zeros(shape, x.dtype)], axis=axis)
