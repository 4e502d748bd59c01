"""Values of eager tensors, and checks of them."""

from typing import Any

import keras
import numpy as np
from keras import ops


def known_values(tensor: Any) -> np.ndarray | None:
    """Returns the values of an eager tensor; None for a symbolic one, as inside `tf.function` and `jax.jit`."""
    if keras.backend.backend() == "tensorflow" and ops.is_tensor(tensor) and not hasattr(tensor, "numpy"):
        return None
    try:
        return np.asarray(ops.convert_to_numpy(tensor))
    except (TypeError, ValueError):
        return None


def check_dense(inputs: Any) -> None:
    """Raises `ValueError` for a `tf.RaggedTensor`, which operations on steps do not accept."""
    if hasattr(inputs, "nested_row_splits"):
        raise ValueError(
            "`inputs` must be a tensor with rows of the same length. "
            f"Received: {type(inputs).__name__} of shape {tuple(inputs.shape)}. Call `ids.to_tensor()` on token ids "
            "before their embedding: it pads with 0, which `mask_zero` hides."
        )


def check_token_ids(name: str, token_ids: Any, vocabulary_size: int) -> None:
    """Raises `ValueError` if an id is outside of `[0, vocabulary_size)`; compiled calls cannot be checked.

    Without the check JAX silently takes the nearest row of the table, TensorFlow on a GPU a row of zeros.
    """
    values = known_values(token_ids)
    if values is not None and values.size and not 0 <= values.min() <= values.max() < vocabulary_size:
        raise ValueError(
            f"`{name}` must hold ids in [0, {vocabulary_size}). Received: ids from {values.min()} to {values.max()}. "
            "Was the text encoded with another vocabulary?"
        )
