"""Products and softmax of a single query step, as in decoding, where TensorFlow's general operations are slow.

On a CPU oneDNN prepares each product and each softmax anew, which takes several times as long as a small result itself.
"""

import functools
from typing import Any

import keras
from keras import ops


def is_row(x: Any) -> bool:
    """Returns whether x `[..., T, *]` has one step, T = 1, is float32 and not empty, and TensorFlow has only a CPU."""
    one = isinstance(x.shape[-2], int) and x.shape[-2] == 1 and 0 not in x.shape
    return one and keras.backend.standardize_dtype(x.dtype) == "float32" and _tensorflow_on_cpu()


@functools.cache
def _tensorflow_on_cpu():
    if keras.backend.backend() != "tensorflow":
        return False
    import tensorflow as tf

    return not tf.config.list_physical_devices("GPU")


def row_matmul(x: Any, y: Any, transpose_y: bool = False) -> Any:
    """Multiplies rows `[R, 1, H]` by `[R, H, S]`, or by the transpose of `[R, S, H]`, to `[R, 1, S]`."""
    import tensorflow as tf

    # TensorFlow computes this version of the operation itself, without oneDNN.
    return tf.raw_ops.BatchMatMulV3(x=x, y=y, adj_y=transpose_y, Tout=x.dtype)


def row_softmax(x: Any) -> Any:
    """Computes the softmax over the last axis."""
    powers = ops.exp(x - ops.max(x, axis=-1, keepdims=True))
    return powers / ops.sum(powers, axis=-1, keepdims=True)
