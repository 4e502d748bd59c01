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


def is_quantized(store: Mapping[str, Any]) -> bool:
    """Returns whether the first array of a layer in a file is int8."""
    return "0" in store and str(store["0"].dtype) == "int8"
