"""Packing of the real steps of a batch into one row without padding."""

from typing import Any

from keras import ops


class Packing:
    """Packs the M real steps of a batch, and unpacks them.

    M is known only at run time, as TensorFlow outside of XLA allows.

    Args:
        mask: Boolean `[B, T]`, True at real steps.
    """

    def __init__(self, mask: Any):
        self.shape = ops.shape(mask)
        real = ops.reshape(mask, (-1,))
        self.spots = ops.cast(ops.nonzero(real)[0], "int32")  # Indices of the M real steps in B * T.
        ranks = ops.cumsum(ops.cast(real, "int32")) - 1
        self.ranks = ops.where(real, ranks, ops.shape(self.spots)[0])  # Indices among real steps, M at padding.

    def pack(self, x: Any) -> Any:
        """Packs the real steps of x `[B, T, D]`, in order, to `[1, M, D]`. The others get no gradient."""
        return self._linear(self._take, self._spread)(x)

    def unpack(self, x: Any) -> Any:
        """Unpacks `[1, M, D]` to `[B, T, D]`, with zeros at padding."""
        return self._linear(self._spread, self._take)(x)

    def _linear(self, function, transpose):
        """Sets the transpose as gradient of a linear function: a lookup too, where TensorFlow's own is a scatter."""

        @ops.custom_gradient
        def with_gradient(x):
            def gradient(*args, upstream=None):
                return transpose(args[0] if upstream is None else upstream)

            return function(x), gradient

        return with_gradient

    def _take(self, x):
        return ops.take(ops.reshape(x, (-1, x.shape[-1])), self.spots, axis=0)[None]

    def _spread(self, x):
        with_zeros = ops.concatenate([x[0], ops.zeros((1, x.shape[-1]), x.dtype)], axis=0)
        return ops.reshape(ops.take(with_zeros, self.ranks, axis=0), (*self.shape, x.shape[-1]))
