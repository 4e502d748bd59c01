"""Sinusoidal and learned positions of grids, such as the patches of an image."""

from typing import Any

import keras
from keras import ops

from keras_transformer.ops.arguments import check_positive_integers
from keras_transformer.ops.positions import sinusoidal_encoding
from keras_transformer.ops.precision import at_least_float32
from keras_transformer.ops.values import check_dense


@keras.saving.register_keras_serializable("keras_transformer")
class GridPositionalEncoding(keras.layers.Layer):
    """Adds sinusoids of rows to one half of the vectors of a grid, and of columns to the other half.

        y[b, i, j] = x[b, i, j] + [PE(i), PE(j)]

    PE is that of Vaswani et al. (2017), section 3.5, for a width of D / 2; see Carion et al. (2020), appendix A.4.
    There is no table and no largest grid.

    Call arguments:
        inputs: Float `[B, H, W, D]`, D a multiple of 4; its mask is kept.

    Returns:
        Float `[B, H, W, D]`.

    Raises:
        ValueError: If D is unknown or no multiple of 4.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, inputs_shape):
        width = inputs_shape[-1]
        if len(inputs_shape) != 4 or width is None or width % 4:
            raise ValueError(
                "`inputs` must be `[B, H, W, D]` with a known D, a multiple of 4. "
                f"Received: inputs_shape={tuple(inputs_shape)}. Change the width of the embedding."
            )

    def call(self, inputs):
        check_dense(inputs)
        _, rows, columns, width = ops.shape(inputs)
        outputs = at_least_float32(inputs)
        return ops.cast(outputs + ops.cast(self._encode(rows, columns, width), outputs.dtype), inputs.dtype)

    def compute_mask(self, inputs, previous_mask=None):
        return previous_mask

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def _encode(self, rows, columns, width):
        """Returns what is added, `[H, W, D]` or with one axis before."""
        vertical, horizontal = (sinusoidal_encoding(ops.arange(size), width // 2) for size in (rows, columns))
        shape = rows, columns, width // 2
        sides = ops.broadcast_to(vertical[:, None], shape), ops.broadcast_to(horizontal[None], shape)
        return ops.concatenate(sides, axis=-1)


@keras.saving.register_keras_serializable("keras_transformer")
class LearnedGridPositionalEncoding(GridPositionalEncoding):
    """Adds learned positions of a grid: `y[b, i, j] = x[b, i, j] + W[i, j]`.

    Grids of other sizes get the table resized to theirs by cubic interpolation (Dosovitskiy et al. 2021, section 3.2),
    so that a trained model takes larger images.

    Args:
        rows, columns: Size of the grid that the table is made for.
        interpolation: "bicubic" or "bilinear".
        embeddings_initializer: Initializer of the table.

    Call arguments:
        inputs: Float `[B, H, W, D]`; its mask is kept.

    Raises:
        ValueError: If D is unknown.
    """

    def __init__(
        self, rows: int, columns: int, interpolation: str = "bicubic", embeddings_initializer="uniform", **kwargs: Any
    ):
        super().__init__(**kwargs)
        check_positive_integers(rows=rows, columns=columns)
        if interpolation not in ("bicubic", "bilinear"):
            raise ValueError(f"`interpolation` must be 'bicubic' or 'bilinear'. Received: {interpolation!r}.")
        self.rows, self.columns, self.interpolation = rows, columns, interpolation
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)

    def build(self, inputs_shape):
        if len(inputs_shape) != 4 or inputs_shape[-1] is None:
            raise ValueError(
                f"`inputs` must be `[B, H, W, D]` with a known D. Received: inputs_shape={tuple(inputs_shape)}."
            )
        shape = (self.rows, self.columns, inputs_shape[-1])
        self.embeddings = self.add_weight(name="embeddings", shape=shape, initializer=self.embeddings_initializer)

    def get_config(self):
        return {
            **super().get_config(),
            "rows": self.rows,
            "columns": self.columns,
            "interpolation": self.interpolation,
            "embeddings_initializer": keras.initializers.serialize(self.embeddings_initializer),
        }

    def _encode(self, rows, columns, width):
        table = at_least_float32(ops.convert_to_tensor(self.embeddings))
        known = isinstance(rows, int) and isinstance(columns, int)
        if known and (rows, columns) == (self.rows, self.columns):
            return table
        return ops.image.resize(table[None], (rows, columns), self.interpolation)
