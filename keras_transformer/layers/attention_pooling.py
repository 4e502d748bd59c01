"""Attention pooling: a sequence of vectors reduced to one vector."""

import keras
from keras import ops

from keras_transformer.ops import masks
from keras_transformer.ops.arguments import check_positive_integers
from keras_transformer.ops.attention import MASKED_SCORE, softmax
from keras_transformer.ops.precision import at_least_float32
from keras_transformer.ops.values import check_dense


@keras.saving.register_keras_serializable("keras_transformer")
class AttentionPooling(keras.layers.Layer):
    """Averages a sequence with attention weights from one learned query u_n per head.

        w[b, n, t] = softmax_t(x[b, t, n, :] . u_n / sqrt(H))
        y[b, n, :] = sum_t w[b, n, t] x[b, t, n, :]

    Yang et al. (2016), eq. 6-7, with N heads and a scale, without the hidden layer of eq. 5.
    Axes: B batch, T steps, N heads, H width of a head, D = N * H.

    Args:
        num_heads: Number of heads N, slices of the vectors; divides D.

    Call arguments:
        inputs: Float `[B, T, D]`.
        mask: Boolean `[B, T]`, True at real steps; defaults to the mask that `inputs` carries. A row without real
            steps gives the plain average, never NaN.

    Returns:
        Float `[B, D]`, without a mask, since there are no steps.

    Raises:
        ValueError: If D is unknown or not a multiple of `num_heads`.
    """

    def __init__(self, num_heads: int = 1, **kwargs):
        super().__init__(**kwargs)
        check_positive_integers(num_heads=num_heads)
        self.num_heads = num_heads
        self.supports_masking = True

    def build(self, inputs_shape):
        width = inputs_shape[-1]
        if width is None or width % self.num_heads:
            raise ValueError(
                f"`inputs` must have a known width divisible by num_heads={self.num_heads}. "
                f"Received: inputs_shape={tuple(inputs_shape)}. Project the inputs first or change `num_heads`."
            )
        self.query = self.add_weight(name="query", shape=(self.num_heads, width // self.num_heads))

    def call(self, inputs, mask=None):
        weights = ops.cast(self.weights_of_steps(inputs, mask), inputs.dtype)
        heads = self._split(inputs)
        return ops.reshape(ops.einsum("bnt,btnh->bnh", weights, heads), (-1, inputs.shape[-1]))

    def weights_of_steps(self, inputs, mask=None):
        """Returns the weights of the steps in each average, float32 `[B, N, T]`; arguments as for a call."""
        check_dense(inputs)
        mask = masks.attached_mask(inputs, mask)
        heads = self._split(inputs)
        scores = ops.einsum("btnh,nh->bnt", heads, ops.cast(self.query, heads.dtype)) * self.query.shape[1] ** -0.5
        scores = at_least_float32(scores)  # Half precision loses long averages.
        if mask is not None:
            scores = ops.where(mask[:, None, :], scores, MASKED_SCORE)
        return softmax(scores)

    def _split(self, inputs):
        batch, steps, _ = ops.shape(inputs)
        return ops.reshape(inputs, (batch, steps, *self.query.shape))

    def compute_mask(self, inputs, previous_mask=None):
        return None

    def compute_output_shape(self, inputs_shape):
        return inputs_shape[0], inputs_shape[2]

    def get_config(self):
        return {**super().get_config(), "num_heads": self.num_heads}
