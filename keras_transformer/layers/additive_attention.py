"""Multi-head attention with scores by a small network."""

import keras
from keras import ops

from keras_transformer.layers.multi_head_attention import MultiHeadAttention
from keras_transformer.ops.precision import at_least_float32


@keras.saving.register_keras_serializable("keras_transformer")
class AdditiveAttention(MultiHeadAttention):
    """`MultiHeadAttention` with the scores of Bahdanau et al. (2015), appendix A.1.2, in each head.

        score = v_n . tanh(q_t + k_s),  q_t = x_t W_Q,  k_s = z_s W_K

    One head of the width of the hidden layer, without the output projection, is what they published. Arguments are
    those of `MultiHeadAttention`. Scores take memory for `[B, N, T, S, H]`, and are computed at once, not in blocks.

    Axes: B batch, T query steps, S key steps, N heads, H width of a head.
    """

    def build(self, query_shape, value_shape=None, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        shape = self.num_heads, 1, 1, self.key_dim
        self.score_vectors = self.add_weight(name="score_vectors", shape=shape, initializer="glorot_uniform")

    def _scores(self, query, key, query_positions, key_positions):
        keys = ops.reshape(key, (-1, self.num_heads, 1, *ops.shape(key)[1:]))
        hidden = at_least_float32(ops.tanh(ops.expand_dims(query, 3) + keys))
        return ops.sum(hidden * ops.cast(self.score_vectors, hidden.dtype), axis=-1)
