"""Helpers for eight-bit weights."""

from collections.abc import Mapping
from typing import Any

import keras


def check_mode(layer: keras.layers.Layer, mode: str) -> None:
    """Raises `NotImplementedError`, which `Model.quantize` turns into a warning, unless the mode is `"int8"`."""
    if mode != "int8":
        raise NotImplementedError(
            f"{type(layer).__name__} can be quantised to int8 only. Received: mode={mode!r}. Use mode='int8'."
        )


def delete_attribute(layer: keras.layers.Layer, name: str) -> None:
    """Does what `del layer.name` does, without the search of all memory for garbage that Keras begins for a variable.

    Those searches took all but a tenth of the time of quantising a model.
    """
    value = getattr(layer, name)
    if isinstance(value, keras.Variable):
        layer._untrack_variable(value)
    super(keras.layers.Layer, layer).__delattr__(name)


def is_quantized(store: Mapping[str, Any]) -> bool:
    """Returns whether the first array of a layer in a file is int8."""
    return "0" in store and str(store["0"].dtype) == "int8"
