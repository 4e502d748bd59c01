"""What passes through the layers of a model while it is called."""

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import keras


@contextlib.contextmanager
def watched(
    layers: Iterable[keras.layers.Layer], told: Callable[[keras.layers.Layer, Any, Any], None]
) -> Iterator[None]:
    """While the context lasts, `told(layer, inputs, outputs)` is called after each call of one of the layers.

    Args:
        layers: Of a model that is called eagerly.
        told: Gets the first argument of the call, and what it returned. What it returns, if anything, takes the place
            of the outputs.
    """

    def watching(layer, call):
        @functools.wraps(call)
        def wrapper(*args, **kwargs):
            outputs = call(*args, **kwargs)
            instead = told(layer, args[0] if args else next(iter(kwargs.values()), None), outputs)
            return outputs if instead is None else instead

        return wrapper

    layers = list(layers)
    for layer in layers:
        object.__setattr__(layer, "call", watching(layer, layer.call))  # Past Keras's tracking of attributes.
    try:
        yield
    finally:
        for layer in layers:
            object.__delattr__(layer, "call")
