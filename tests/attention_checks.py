"""An attention layer with distinct sizes, its inputs, and its outputs computed by NumPy."""

import layer_checks as checks
import numpy as np
import reference as ref

from keras_transformer import MultiHeadAttention

B, T, S, K = 3, 5, 7, 2
N, H, VALUE, D, MEMORY, OUT = 2, 11, 13, 17, 19, 23


def make(**kwargs):
    return MultiHeadAttention(**{"num_heads": N, "key_dim": H, "value_dim": VALUE, **kwargs})


def ready(query_width=D, value_width=MEMORY, key_width=None, **kwargs):
    """Returns a built layer with random weights and biases."""
    layer = make(**kwargs)
    layer.build((B, T, query_width), (B, S, value_width), (B, S, key_width or value_width))
    return checks.randomize(layer)


def call_numpy(layer, query, value, mask=None, key=None):
    return ref.multi_head_attention(query, value, ref.weights_of(layer), N, mask, key)


QUERY, VALUES = checks.array(B, T, D), checks.array(B, S, MEMORY, seed=1)
PADDING = checks.lengths_mask((7, 2, 5), S)
PATTERN = np.random.default_rng(2).random((B, T, S)) < 0.6
PATTERN[:, :, 0] = True
