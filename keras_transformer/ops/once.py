"""Functions of tensors that a TensorFlow graph computes once, however often layers ask for them."""

import functools
from collections.abc import Callable, Hashable
from typing import Any

import keras

_RESULTS = "keras_transformer_results"  # An attribute of graphs.


def once(function: Callable) -> Callable:
    """Decorates a pure function: in a TensorFlow graph, calls with the same arguments return the same tensors.

    The layers of a stack thus share what does not differ between them, such as masks. Elsewhere calls are as usual:
    XLA finds such operations by itself.
    """

    @functools.wraps(function)
    def remembered(*arguments):
        graph = _graph()
        if graph is None:
            return function(*arguments)
        results = getattr(graph, _RESULTS, None)
        if results is None:
            results = {}
            setattr(graph, _RESULTS, results)
        key = function, *map(_identity, arguments)
        if key not in results:
            results[key] = function(*arguments), arguments  # Identities are unique as long as the arguments live.
        return results[key][0]

    return remembered


def _identity(argument: Any) -> Hashable:
    """Returns what tells arguments apart: the value of a number, the identity of a tensor."""
    is_value = isinstance(argument, Hashable) and not hasattr(argument, "shape")
    return type(argument), argument if is_value else id(argument)


def _graph():
    """Returns the TensorFlow graph that is being built, or None."""
    if keras.backend.backend() != "tensorflow":
        return None
    import tensorflow as tf

    return None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
