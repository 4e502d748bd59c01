"""Layer for the wide part of a wide and deep classifier."""

import keras
from keras import ops

from keras_transformer import TokenEmbedding
from keras_transformer.ops import masks
from zoo.config import NGRAM_BUCKETS, PAD_ID

_SCALE = 30.0  # Larger steps: Adam has one rate for these few numbers a row and for vectors of hundreds of numbers.
_FACTOR = 1009  # _FACTOR * NGRAM_BUCKETS is an int32.


@keras.saving.register_keras_serializable("zoo")
class NGramLogits(keras.layers.Layer):
    """Computes logits of classes from n-grams by a linear model (wide and deep: Cheng et al. 2016).

        y = 30 / sqrt(T) sum_{n=1..N} sum_t U[hash(ids[t-n+1], ..., ids[t])]

    N-grams are hashed to the 2^18 rows of a table, as in fastText (Joulin et al. 2017). The table is initialized with
    zeros: n-grams that are not in the training data contribute nothing. Axes: B batch, T real steps, C classes.

    Args:
        longest: Longest n-gram N.
        num_classes: Classes C.

    Call arguments:
        token_ids: Int `[B, steps]`, padded with 0 at the end.

    Returns:
        Float `[B, C]`.
    """

    def __init__(self, longest: int, num_classes: int, **kwargs):
        super().__init__(**kwargs)
        self.longest, self.num_classes = longest, num_classes
        options = {"mask_zero": False, "scale": False, "embeddings_initializer": "zeros", "dtype": self.dtype_policy}
        self.table = TokenEmbedding(NGRAM_BUCKETS, num_classes, **options, name="table")

    def build(self, inputs_shape=None):
        self.table.build()
        self.built = True

    def call(self, token_ids):
        ids = ops.cast(token_ids, "int32")
        # LiteRT has no slice that adds axes.
        real = ops.expand_dims(ops.cast(masks.padding_mask(ids, PAD_ID), "float32"), -1)
        total = sum(ops.cast(self.table(rows), "float32") for rows in ngram_rows(ids, self.longest))
        count = ops.maximum(ops.sum(real, axis=1), 1.0)
        return ops.cast(_SCALE * ops.sum(total * real, axis=1) / ops.sqrt(count), self.compute_dtype)

    def get_config(self):
        return {**super().get_config(), "longest": self.longest, "num_classes": self.num_classes}


def ngram_rows(ids, longest):
    """Yields the table rows `[B, T]` of the n-grams that end at each step, for each n up to `longest`, 0 before."""
    for n in range(1, longest + 1):
        rows = ops.full_like(ids, n)
        for back in range(n - 1, -1, -1):
            earlier = ops.pad(ids, ((0, 0), (back, 0)))[:, :-back] if back else ids
            rows = (rows * _FACTOR + earlier) % NGRAM_BUCKETS
        yield rows
