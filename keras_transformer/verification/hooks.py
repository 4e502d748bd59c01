"""Hooks on the layers of a model."""

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import keras


@contextlib.contextmanager
def layer_hook(
    layers: Iterable[keras.layers.Layer], hook: Callable[[keras.layers.Layer, Any, Any], Any]
) -> Iterator[None]:
    """Calls `hook(layer, inputs, outputs)` after each call of one of the layers, inside the `with` block.

    Args:
        layers: Layers of a model that is called eagerly.
        hook: Receives the first argument of the call and its outputs. What it returns, unless None, replaces the
            outputs.
    """

    def with_hook(layer, call):
        @functools.wraps(call)
        def wrapper(*args, **kwargs):
            outputs = call(*args, **kwargs)
            replacement = hook(layer, args[0] if args else next(iter(kwargs.values()), None), outputs)
            return outputs if replacement is None else replacement

        return wrapper

    layers = list(layers)
    for layer in layers:
        object.__setattr__(layer, "call", with_hook(layer, layer.call))  # Bypasses Keras's tracking of attributes.
    try:
        yield
    finally:
        for layer in layers:
            object.__delattr__(layer, "call")
