"""Compilation to TensorFlow graphs."""

import threading
from collections.abc import Callable

import tensorflow as tf

_tracing = threading.RLock()  # Keras layers are called by one thread at a time.


def graph_function(function: Callable, jit_compile: bool = False) -> Callable:
    """A graph of `function(*tensors)`, traced once for all sizes, or traced and compiled by XLA for each shape.

    It may be called by many threads.
    """
    graphs = {}

    def call(*arrays):
        tensors = [tf.convert_to_tensor(array) for array in arrays]
        shapes = [tensor.shape if jit_compile else [None] * tensor.shape.rank for tensor in tensors]
        specs = tuple(tf.TensorSpec(shape, tensor.dtype) for shape, tensor in zip(shapes, tensors))
        if specs not in graphs:
            with _tracing:
                if specs not in graphs:
                    graph = tf.function(function, input_signature=specs, jit_compile=jit_compile, autograph=False)
                    graphs[specs] = graph.get_concrete_function()
        return graphs[specs](*tensors)

    return call
