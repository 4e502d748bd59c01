"""Dropout with random numbers no longer than they need to be."""

from typing import Any

import keras

_BITS = 16


def dropout(x: Any, rate: float, seed: Any) -> Any:
    """Zeros in place of a share `rate` of x, the rest scaled by `1 / (1 - rate)` (Srivastava et al. 2014).

    On TensorFlow, where making 32 random bits a number costs more than the rest, 16 decide: the rate is a multiple of
    2^-16, and the scale belongs to that rate.

    Args:
        x: Floats of any shape.
        rate: In [0, 1).
        seed: A `keras.random.SeedGenerator`.
    """
    threshold = round(rate * 2**_BITS)
    if keras.backend.backend() != "tensorflow" or threshold in (0, 2**_BITS):
        return keras.random.dropout(x, rate, seed=seed)
    import tensorflow as tf  # Keras has no random bits.

    shape, size = tf.shape(x), tf.size(x)
    bits = tf.random.stateless_uniform([(size + 1) // 2], tf.cast(seed.next(), "int32"), None, None, "uint32")
    bits = tf.reshape(tf.reshape(tf.bitcast(bits, "uint16"), [-1])[:size], shape)
    scale = tf.constant(2**_BITS / (2**_BITS - threshold), x.dtype)
    kept = tf.ensure_shape(tf.cast(bits >= threshold, x.dtype), x.shape)
    return x * (kept * scale)
