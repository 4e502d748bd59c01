"""Multi-head attention with a learned bias for buckets of distances, as in T5."""

import keras
import numpy as np
from keras import ops

from keras_transformer.layers.multi_head_attention import MultiHeadAttention
from keras_transformer.ops.arguments import check_positive_integers
from keras_transformer.ops.attention import attention_scores
from keras_transformer.ops.once import once


@keras.saving.register_keras_serializable("keras_transformer")
class DistanceBuckets(keras.layers.Layer):
    """Learned numbers for buckets of distances, one for each head (Raffel et al. 2020, section 2.1).

    Half of the buckets are of a single distance each, from 0 on; the others are of ever more, up to `max_distance`
    (with 32 buckets and 128: 0, 1, ..., 7, 8 to 11, 12 to 15, 16 to 22, ... on each side). The last one has all that
    are further away.

    Axes: T query steps, S key steps, N heads.

    Args:
        num_heads: Heads N.
        num_buckets: Number of buckets; an even one if keys on both sides are seen.
        max_distance: Distance from which on all keys are in the last bucket.
        bidirectional: Whether keys behind the query have half of the buckets; otherwise they count as distance 0, as
            under a causal mask.

    Call arguments:
        query_positions, key_positions: Int32 `[T]` and `[S]`.

    Returns:
        Float32 `[1, N, T, S]`.

    Raises:
        ValueError: If there are fewer than 2 buckets on a side, or `max_distance` leaves no distance for the last ones.
    """

    def __init__(
        self, num_heads: int, num_buckets: int = 32, max_distance: int = 128, bidirectional: bool = True, **kwargs
    ):
        super().__init__(**kwargs)
        check_positive_integers(num_heads=num_heads, num_buckets=num_buckets, max_distance=max_distance)
        self.num_heads, self.num_buckets, self.max_distance = num_heads, num_buckets, max_distance
        self.bidirectional = bidirectional
        sides = 2 if bidirectional else 1
        self._side = num_buckets // sides
        if num_buckets % sides or self._side < 2 or max_distance <= self._side // 2:
            raise ValueError(
                "`num_buckets` must be at least 2 on each side, and even for two sides, and `max_distance` larger than "
                f"half of a side. Received: num_buckets={num_buckets}, max_distance={max_distance}, "
                f"bidirectional={bidirectional}."
            )

    def build(self, query_shape=None, key_shape=None):
        shape = self.num_buckets, self.num_heads
        self.biases = self.add_weight(name="biases", shape=shape, initializer="glorot_uniform")

    def call(self, query_positions, key_positions):
        buckets = _buckets(query_positions, key_positions, self._side, self.max_distance, self.bidirectional)
        biases = ops.take(ops.cast(self.biases, "float32"), buckets, axis=0)
        return ops.expand_dims(ops.transpose(biases, (2, 0, 1)), 0)

    def compute_output_shape(self, query_shape, key_shape):
        return (1, self.num_heads, query_shape[0], key_shape[0])

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "num_buckets": self.num_buckets,
            "max_distance": self.max_distance,
            "bidirectional": self.bidirectional,
        }


@keras.saving.register_keras_serializable("keras_transformer")
class BucketedAttention(MultiHeadAttention):
    """`MultiHeadAttention` that adds a learned number for the distance of the key (T5: Raffel et al. 2020).

        score = q_t . k_s / sqrt(H) + b_{bucket(s - t), n}

    T5 does not divide by sqrt(H): its query kernels are ours divided by that. Inputs need no positional encoding.
    Scores are computed at once, not in blocks.

    Axes: T query steps, S key steps, N heads, H width of a head.

    Args:
        num_heads, key_dim: As for `MultiHeadAttention`.
        buckets: `DistanceBuckets` to share with other layers, as those of T5 do; None for one of its own. A model that
            is saved and loaded, or copied by `copy.deepcopy`, still shares it. `keras.models.clone_model` and
            `from_config` of a model do not: Keras then makes each layer by itself.
        num_buckets, max_distance, bidirectional: Of the own one; see `DistanceBuckets`.
        kwargs: Other arguments of `MultiHeadAttention`.

    Raises:
        ValueError: If `buckets` is something else, or has another number of heads.
    """

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        *args,
        buckets: DistanceBuckets | None = None,
        num_buckets: int = 32,
        max_distance: int = 128,
        bidirectional: bool = True,
        **kwargs,
    ):
        super().__init__(num_heads, key_dim, *args, **kwargs)
        if buckets is not None and not isinstance(buckets, DistanceBuckets):
            raise ValueError(f"`buckets` must be `DistanceBuckets` or None. Received: buckets={buckets!r}.")
        if buckets is not None and buckets.num_heads != num_heads:
            raise ValueError(
                f"`buckets` must have as many heads. Received: num_heads={num_heads}, "
                f"buckets.num_heads={buckets.num_heads}."
            )
        options = {"num_buckets": num_buckets, "max_distance": max_distance, "bidirectional": bidirectional}
        self.buckets = buckets or DistanceBuckets(num_heads, **options, dtype=self.dtype_policy, name="buckets")

    def build(self, query_shape, value_shape=None, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        if not self.buckets.built:
            self.buckets.build()

    def get_config(self):
        # While Keras saves a model, it adds an id to what it serializes a second time; layers that load the same id
        # share the object. The first layer needs the id, too, so it serializes twice.
        keras.saving.serialize_keras_object(self.buckets)
        return {**super().get_config(), "buckets": keras.saving.serialize_keras_object(self.buckets)}

    @classmethod
    def from_config(cls, config):
        return super().from_config({**config, "buckets": keras.saving.deserialize_keras_object(config.get("buckets"))})

    def _scores(self, query, key, query_positions, key_positions):
        scores = attention_scores(query, key)
        return scores + ops.cast(self.buckets(query_positions, key_positions), scores.dtype)


@once
def _buckets(query_positions, key_positions, side, max_distance, bidirectional):
    """Returns the bucket of each query and key, int32 `[T, S]`, with `side` buckets on a side."""
    behind = ops.expand_dims(key_positions, 0) - ops.expand_dims(query_positions, 1)
    if not bidirectional:
        return _bucket(ops.maximum(-behind, 0), side, max_distance)
    return side * ops.cast(behind > 0, "int32") + _bucket(ops.abs(behind), side, max_distance)


def _bucket(distances, side, max_distance):
    """Returns the bucket of each distance on its side: how many buckets begin at it or below, without the first."""
    exact = side // 2
    powers = np.arange(side - exact) / (side - exact)
    starts = np.ceil(exact * (max_distance / exact) ** powers - 1e-6)
    starts = np.concatenate([np.arange(1, exact), starts]).astype("int32")
    reached = ops.expand_dims(distances, -1) >= ops.convert_to_tensor(starts)
    return ops.sum(ops.cast(reached, "int32"), axis=-1)
