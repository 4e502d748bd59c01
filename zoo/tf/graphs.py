"""Compilation to TensorFlow graphs."""

import contextlib
import threading
from collections.abc import Callable

import tensorflow as tf

from keras_transformer.ops.updates import updates_in_place
from zoo.tf.xla_cache import persistent_cache

_tracing = threading.RLock()  # Keras layers must not be called by several threads at a time.


def graph_function(function: Callable, jit_compile: bool = False) -> Callable:
    """Compiles `function(*tensors)` to one graph for all sizes, or with XLA to one for each shape.

    The result is thread-safe. What XLA compiles is kept on disk, see `zoo.tf.xla_cache`.
    """
    graphs, cache = {}, persistent_cache() if jit_compile else None

    def call(*arrays):
        tensors = [tf.convert_to_tensor(array) for array in arrays]
        shapes = [tensor.shape if jit_compile else [None] * tensor.shape.rank for tensor in tensors]
        specs = tuple(tf.TensorSpec(shape, tensor.dtype) for shape, tensor in zip(shapes, tensors))
        if specs not in graphs:
            with _tracing, contextlib.nullcontext() if jit_compile else updates_in_place():
                if specs not in graphs:
                    graph = tf.function(function, input_signature=specs, jit_compile=jit_compile, autograph=False)
                    concrete = graph.get_concrete_function()
                    if cache is not None:  # The first call compiles.
                        cache.fill()
                        concrete(*tensors)
                        cache.publish()
                    graphs[specs] = concrete
        return graphs[specs](*tensors)

    return call
