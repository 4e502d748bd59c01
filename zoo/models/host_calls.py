"""Calls of NumPy functions from compiled functions of the backend."""

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops


def call_on_host(function: Callable, tensors: Sequence[Any], shape: Sequence, dtype: str = "int32") -> Any:
    """Calls `function(*arrays) -> array` with the values of tensors, wherever they are computed; without a gradient.

    Args:
        function: A function of NumPy arrays. It depends on nothing else.
        tensors: Its arguments.
        shape: Shape of the result; sizes may be tensors on TensorFlow.
        dtype: Type of the result.
    """
    tensors = [ops.stop_gradient(ops.convert_to_tensor(tensor)) for tensor in tensors]
    if keras.backend.backend() == "tensorflow":
        from zoo.tf.host_calls import call_on_host as on_tensorflow

        return ops.reshape(on_tensorflow(function, tensors, dtype), shape)
    if keras.backend.backend() == "jax":
        import jax

        def run(*arrays):
            return np.asarray(function(*map(np.asarray, arrays)), dtype)

        return jax.pure_callback(run, jax.ShapeDtypeStruct(tuple(shape), dtype), *tensors)
    return ops.convert_to_tensor(np.asarray(function(*map(ops.convert_to_numpy, tensors)), dtype))
