"""Compilation to TensorFlow graphs."""

from collections.abc import Callable

import tensorflow as tf


def graph_function(function: Callable, jit_compile: bool = False) -> Callable:
    """A graph of `function(*tensors)`, traced once for all sizes, or traced and compiled by XLA for each shape."""
    graphs = {}

    def call(*arrays):
        tensors = [tf.convert_to_tensor(array) for array in arrays]
        shapes = [tensor.shape if jit_compile else [None] * tensor.shape.rank for tensor in tensors]
        specs = tuple(tf.TensorSpec(shape, tensor.dtype) for shape, tensor in zip(shapes, tensors))
        if specs not in graphs:
            graphs[specs] = tf.function(function, input_signature=specs, jit_compile=jit_compile, autograph=False)
        return graphs[specs](*tensors)

    return call
