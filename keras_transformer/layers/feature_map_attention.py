"""Self-attention between the cells of a feature map."""

from typing import Any

import keras
from keras import ops

from keras_transformer.ops.arguments import check_positive_integers
from keras_transformer.ops.attention import attend
from keras_transformer.ops.blockwise import LONG, blockwise_attention
from keras_transformer.ops.precision import at_least_float32
from keras_transformer.ops.visibility import Visibility


@keras.saving.register_keras_serializable("keras_transformer")
class FeatureMapAttention(keras.layers.Layer):
    """Adds to each cell of a feature map what it attends to in all cells, in images and generative networks.

        s_ij = f(x_i) . g(x_j),   f(x) = W_f x,   g(x) = W_g x
        b_ji = softmax_i(s_ij)
        o_j  = W_v sum_i b_ji W_h x_i
        y_j  = gamma o_j + x_j

    Zhang et al. (2019), "Self-attention generative adversarial networks", eq. 1-3. W_f, W_g and W_h are 1x1
    convolutions from C channels to C / 8, W_v one back to C; the scores are not scaled. gamma is learned and starts at
    0, so that the layer changes nothing at first.

    Axes: B batch, H rows, W columns, C channels.

    Args:
        reduction: C divided by the channels of f, g and h; 8 in the paper.
        spectral_normalization: Whether `keras.layers.SpectralNormalization` divides each of the four weights by its
            largest singular value, as in the paper.
        flash_attention: Whether memory grows linearly with the number of cells, by attention in blocks, which has no
            second-order gradients; None for maps of more than 2,047 cells in a graph of known sizes.

    Call arguments:
        inputs: Float `[B, H, W, C]`.
        training: Whether spectral normalisation updates its estimate.

    Returns:
        Float `[B, H, W, C]`.

    Raises:
        ValueError: If C is unknown or not a multiple of `reduction`.
    """

    def __init__(
        self,
        reduction: int = 8,
        spectral_normalization: bool = False,
        flash_attention: bool | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_positive_integers(reduction=reduction)
        self.reduction = reduction
        self.spectral_normalization = spectral_normalization
        self.flash_attention = flash_attention

    def build(self, inputs_shape):
        channels = inputs_shape[-1]
        if len(inputs_shape) != 4 or channels is None or channels % self.reduction:
            raise ValueError(
                f"`inputs` must be `[B, H, W, C]` with a known C, a multiple of reduction={self.reduction}. "
                f"Received: inputs_shape={tuple(inputs_shape)}. Change `reduction` or project the inputs first."
            )
        inner = channels // self.reduction
        self.key_projection = self._projection(channels, inner, "key")
        self.query_projection = self._projection(channels, inner, "query")
        self.value_projection = self._projection(channels, inner, "value")
        self.output_projection = self._projection(inner, channels, "output")
        self.gamma = self.add_weight(name="gamma", shape=(), initializer="zeros")

    def call(self, inputs, training=False):
        batch, rows, columns, channels = ops.shape(inputs)
        cells = ops.reshape(inputs, (batch, rows * columns, channels))
        key, query, value = (
            projection(cells, training=training) if self.spectral_normalization else projection(cells)
            for projection in (self.key_projection, self.query_projection, self.value_projection)
        )
        attended = self._attended(ops.expand_dims(query, 1), key, value)[:, 0]
        options = {"training": training} if self.spectral_normalization else {}
        outputs = self.output_projection(attended, **options)
        return inputs + ops.cast(self.gamma, inputs.dtype) * ops.reshape(outputs, (batch, rows, columns, channels))

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        return {
            **super().get_config(),
            "reduction": self.reduction,
            "spectral_normalization": self.spectral_normalization,
            "flash_attention": self.flash_attention,
        }

    def _projection(self, inputs, outputs, name):
        layer = keras.layers.Dense(outputs, use_bias=False, name=name, dtype=self.dtype_policy)
        if self.spectral_normalization:
            layer = keras.layers.SpectralNormalization(layer, name=name, dtype=self.dtype_policy)
        layer.build((None, None, inputs))
        return layer

    def _attended(self, query, key, value):
        """Attends with queries `[B, 1, HW, C']` to keys and values `[B, HW, C']`: `[B, 1, HW, C']`."""
        count = query.shape[2]
        wanted = self.flash_attention
        if wanted or wanted is None and isinstance(count, int) and count * count >= LONG:
            positions = ops.arange(ops.shape(query)[2])
            seen = Visibility(None, positions, positions, to_itself=True)
            unscaled = query * ops.cast(query.shape[-1] ** 0.5, query.dtype)  # The blocks divide by the same root.
            return blockwise_attention(unscaled, key, value, seen)[0]
        scores = ops.matmul(at_least_float32(query), ops.transpose(at_least_float32(key), (0, 2, 1))[:, None])
        return attend(scores, value)[0]
