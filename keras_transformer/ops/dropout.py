"""Dropout with 16 random bits for each number on TensorFlow."""

from typing import Any

import keras

from keras_transformer.ops.compilation import compiled_by_xla

_BITS = 16


def dropout(x: Any, rate: float, seed: Any) -> Any:
    """Sets a share `rate` of x to zero and scales the rest by `1 / (1 - rate)` (Srivastava et al. 2014).

    On TensorFlow, where drawing 32 random bits for each number costs more than the rest of dropout, 16 bits are drawn:
    the rate is rounded to a multiple of 2^-16, and the scale is that of the rounded rate. Under XLA they come from
    Threefry (Salmon et al. 2011): on a CPU, XLA takes a hundred times as long for TensorFlow's default, Philox, which
    would be most of the time of an update.

    Args:
        x: Floats of any shape.
        rate: In [0, 1).
        seed: A `keras.random.SeedGenerator`.
    """
    threshold = round(rate * 2**_BITS)
    if keras.backend.backend() != "tensorflow" or threshold in (0, 2**_BITS):
        return keras.random.dropout(x, rate, seed=seed)
    import tensorflow as tf  # Keras has no random bits.

    shape, size, key = tf.shape(x), tf.size(x), tf.cast(seed.next(), "int32")
    algorithm = "threefry" if compiled_by_xla(tf.compat.v1.get_default_graph()) else "auto_select"
    bits = tf.random.stateless_uniform([(size + 1) // 2], key, None, None, "uint32", alg=algorithm)
    bits = tf.reshape(tf.reshape(tf.bitcast(bits, "uint16"), [-1])[:size], shape)
    scale = tf.constant(2**_BITS / (2**_BITS - threshold), x.dtype)
    kept = tf.ensure_shape(tf.cast(bits >= threshold, x.dtype), x.shape)
    return x * (kept * scale)
