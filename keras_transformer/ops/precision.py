"""Precision of intermediate results under any dtype policy."""

from typing import Any

import keras
from keras import ops


def at_least_float32(x: Any) -> Any:
    """Casts half precision to float32 and keeps float32 and float64."""
    return x if keras.backend.standardize_dtype(x.dtype) in ("float32", "float64") else ops.cast(x, "float32")
