"""Compilation to TensorFlow graphs."""

from collections.abc import Callable

import tensorflow as tf


def graph_function(function: Callable) -> Callable:
    """A graph of `function(*tensors)` that is traced once for all sizes: every axis has an unknown length."""
    graphs = {}

    def call(*arrays):
        tensors = [tf.convert_to_tensor(array) for array in arrays]
        specs = tuple(tf.TensorSpec([None] * tensor.shape.rank, tensor.dtype) for tensor in tensors)
        if specs not in graphs:
            graphs[specs] = tf.function(function, input_signature=specs, autograph=False)
        return graphs[specs](*tensors)

    return call
