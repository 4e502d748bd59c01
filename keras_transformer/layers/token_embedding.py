"""Token vectors and, through the same table, token logits."""

from typing import Any

import keras
from keras import ops


@keras.saving.register_keras_serializable("keras_transformer")
class TokenEmbedding(keras.layers.Layer):
    """One table for tokens that come in and go out (Press & Wolf 2017; Vaswani et al. 2017, section 3.4).

        call(ids) = s E[ids],  logits(x) = x E^T,  s = sqrt(D) or 1

    Axes: B batch, T steps, V vocabulary, D width. Rows are looked up in float32 under any dtype policy: the gradient
    of a row is a sum over all its occurrences, most of which would be lost if it was made in bfloat16. Logits have the
    dtype of x.

    Args:
        vocabulary_size: Rows V.
        hidden_dim: Width D.
        mask_zero: Whether id 0 is padding, which the output's mask then leaves out.
        embeddings_initializer: Of the table; by default normal with deviation `D**-0.5`.
        scale: Whether rows are scaled by s = sqrt(D), as published in 2017; BERT's are not.

    Call arguments:
        token_ids: Integers `[B, T]`.

    Returns:
        Float `[B, T, D]`.

    Raises:
        ValueError: If a size is not positive.
    """

    def __init__(
        self,
        vocabulary_size: int,
        hidden_dim: int,
        mask_zero: bool = True,
        embeddings_initializer=None,
        scale: bool = True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        for name, size in (("vocabulary_size", vocabulary_size), ("hidden_dim", hidden_dim)):
            if not isinstance(size, int) or size < 1:
                raise ValueError(f"`{name}` must be a positive integer. Received: {name}={size!r}.")
        self.vocabulary_size, self.hidden_dim, self.mask_zero = vocabulary_size, hidden_dim, mask_zero
        self.scale = scale
        if embeddings_initializer is None:
            embeddings_initializer = keras.initializers.RandomNormal(stddev=hidden_dim**-0.5)
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)

    def build(self, inputs_shape=None):
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.vocabulary_size, self.hidden_dim),
            initializer=self.embeddings_initializer,
            autocast=False,
        )

    def call(self, token_ids):
        rows = ops.take(self.embeddings, ops.cast(token_ids, "int32"), axis=0)
        return ops.cast(rows * self.hidden_dim**0.5 if self.scale else rows, self.compute_dtype)

    def output_kernel(self) -> Any:
        """The table as the matrix `[D, V]` of the output, in the compute dtype: made once, it serves many steps."""
        return ops.transpose(ops.cast(self.embeddings, self.compute_dtype))

    def logits(self, x: Any, output_kernel: Any = None) -> Any:
        """Vectors `[..., D]` to logits `[..., V]` of the same dtype."""
        kernel = self.output_kernel() if output_kernel is None else output_kernel
        flat = ops.matmul(ops.reshape(x, (-1, self.hidden_dim)), ops.cast(kernel, x.dtype))
        return ops.reshape(flat, (*ops.shape(x)[:-1], self.vocabulary_size))

    def compute_mask(self, token_ids, previous_mask=None):
        return ops.not_equal(token_ids, 0) if self.mask_zero else None

    def compute_output_shape(self, token_ids_shape):
        return (*token_ids_shape, self.hidden_dim)

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "hidden_dim": self.hidden_dim,
            "mask_zero": self.mask_zero,
            "embeddings_initializer": keras.initializers.serialize(self.embeddings_initializer),
            "scale": self.scale,
        }
