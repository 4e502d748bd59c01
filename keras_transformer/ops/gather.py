"""Rows of a tensor by number."""

from typing import Any

import keras
from keras import ops


def gather(x: Any, rows: Any) -> Any:
    """Returns `x[rows]` for rows that are not negative; `keras.ops.take` needs more operations to allow such."""
    if keras.backend.backend() != "tensorflow":
        return ops.take(x, rows, axis=0)
    import tensorflow as tf

    return tf.gather(x, rows)
