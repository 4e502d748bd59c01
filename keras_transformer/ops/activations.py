"""Activations by name."""

from collections.abc import Callable
from typing import Any

import keras


@keras.saving.register_keras_serializable("keras_transformer")
def gelu_tanh(x):
    """Computes the approximation of GELU by a hyperbolic tangent (Hendrycks and Gimpel 2016, section 2), as in GPT-2.

    gelu_tanh(x) = x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
    """
    return keras.activations.gelu(x, approximate=True)


def get_activation(identifier: Any) -> Callable:
    """Returns the activation of a name, "gelu_tanh" or one of Keras's, or what `keras.activations.get` does."""
    return gelu_tanh if identifier == "gelu_tanh" else keras.activations.get(identifier)
