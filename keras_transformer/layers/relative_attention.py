"""Multi-head attention with learned vectors for the distances of keys."""

import keras
from keras import ops

from keras_transformer.layers.multi_head_attention import MultiHeadAttention
from keras_transformer.ops.arguments import check_positive_integers
from keras_transformer.ops.attention import attention_scores, scaled
from keras_transformer.ops.precision import at_least_float32


@keras.saving.register_keras_serializable("keras_transformer")
class RelativeAttention(MultiHeadAttention):
    """`MultiHeadAttention` that adds a learned vector of its distance to each key (Shaw et al. 2018, eq. 4).

        score = q_t . (k_s + a_{clip(s - t, -c, c)}) / sqrt(H)

    The 2 c + 1 vectors a are shared by the heads, as published; values have none (their table 3 finds no use in them).
    Inputs need no positional encoding. Scores are computed at once, not in blocks.

    Axes: T query steps, S key steps, H width of a head.

    Args:
        num_heads, key_dim: As for `MultiHeadAttention`.
        max_distance: Largest distance c; keys that are further away share a vector on each side.
        kwargs: Other arguments of `MultiHeadAttention`.

    Raises:
        ValueError: If `max_distance` is not positive.
    """

    def __init__(self, num_heads: int, key_dim: int, *args, max_distance: int = 16, **kwargs):
        super().__init__(num_heads, key_dim, *args, **kwargs)
        check_positive_integers(max_distance=max_distance)
        self.max_distance = max_distance

    def build(self, query_shape, value_shape=None, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        shape = 2 * self.max_distance + 1, self.key_dim
        self.distances = self.add_weight(name="distances", shape=shape, initializer="glorot_uniform")

    def get_config(self):
        return {**super().get_config(), "max_distance": self.max_distance}

    def _scores(self, query, key, query_positions, key_positions):
        distance = ops.expand_dims(key_positions, 0) - ops.expand_dims(query_positions, 1)
        rows = ops.clip(distance, -self.max_distance, self.max_distance) + self.max_distance
        vectors = ops.take(ops.cast(self.distances, query.dtype), rows, axis=0)
        by_distance = ops.einsum("bnth,tsh->bnts", scaled(query), vectors)
        return attention_scores(query, key) + at_least_float32(by_distance)
