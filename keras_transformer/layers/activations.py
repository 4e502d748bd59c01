"""Activations by name, with one that Keras has no name for."""

from collections.abc import Callable
from typing import Any

import keras


@keras.saving.register_keras_serializable("keras_transformer")
def gelu_tanh(x: Any) -> Any:
    """Computes GELU by its approximation with a hyperbolic tangent, as in GPT-2 and T5 1.1.

    0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))  (Hendrycks and Gimpel 2016, section 2).
    """
    return keras.activations.gelu(x, approximate=True)


def get_activation(identifier: Any) -> Callable:
    """Returns the activation of a name, a configuration or a function: "gelu_tanh", or as `keras.activations.get`."""
    return gelu_tanh if identifier == "gelu_tanh" else keras.activations.get(identifier)
