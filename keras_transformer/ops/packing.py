"""Sequences without their padding: the real steps of a batch as one long row."""

from typing import Any

from keras import ops


class Packing:
    """Where the M real steps of a batch are, known at run time only: TensorFlow outside of XLA.

    Args:
        mask: Boolean `[B, T]`, True at real steps.
    """

    def __init__(self, mask: Any):
        self.shape = ops.shape(mask)
        real = ops.reshape(mask, (-1,))
        self.spots = ops.cast(ops.nonzero(real)[0], "int32")  # Of M real steps in B * T.
        ranks = ops.cumsum(ops.cast(real, "int32")) - 1
        self.ranks = ops.where(real, ranks, ops.shape(self.spots)[0])  # Of B * T steps among the real ones, M if none.

    def pack(self, x: Any) -> Any:
        """The real steps of x `[B, T, D]`, in order: `[1, M, D]`. Others send back no gradient."""
        return self._linear(self._take, self._spread)(x)

    def unpack(self, x: Any) -> Any:
        """The inverse, with zeros at padding: `[1, M, D]` to `[B, T, D]`."""
        return self._linear(self._spread, self._take)(x)

    def _linear(self, function, transposed):
        """A linear function whose gradient is its transposed: both are lookups, where TensorFlow's own scatters."""

        @ops.custom_gradient
        def with_gradient(x):
            def gradient(*args, upstream=None):
                return transposed(args[0] if upstream is None else upstream)

            return function(x), gradient

        return with_gradient

    def _take(self, x):
        return ops.take(ops.reshape(x, (-1, x.shape[-1])), self.spots, axis=0)[None]

    def _spread(self, x):
        with_zeros = ops.concatenate([x[0], ops.zeros((1, x.shape[-1]), x.dtype)], axis=0)
        return ops.reshape(ops.take(with_zeros, self.ranks, axis=0), (*self.shape, x.shape[-1]))
