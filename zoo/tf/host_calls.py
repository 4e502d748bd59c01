"""Calls of NumPy functions from graphs."""

from collections.abc import Callable, Sequence

import tensorflow as tf


def call_on_host(function: Callable, tensors: Sequence[tf.Tensor], dtype: str) -> tf.Tensor:
    """Calls `function(*arrays) -> array`; see `zoo.models.host_calls`."""
    return tf.numpy_function(lambda *arrays: function(*arrays).astype(dtype), tensors, tf.as_dtype(dtype))
