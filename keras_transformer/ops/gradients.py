"""Gradients of a model's weights on any backend; Keras has no function for this."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np


def weight_gradients(
    model: keras.Model, inputs: Any, loss: Callable[[Any], Any], training: bool = False
) -> list[np.ndarray | None]:
    """The gradients of `loss(model(inputs, training))` with respect to `model.trainable_variables`.

    Arrays of the variables' shapes; on TensorFlow and torch None for variables that the loss does not depend on.
    """
    found = {"tensorflow": _tensorflow, "jax": _jax, "torch": _torch}[keras.backend.backend()](
        model, inputs, loss, training
    )
    return [None if gradient is None else keras.ops.convert_to_numpy(gradient) for gradient in found]


def _tensorflow(model, inputs, loss, training):
    import tensorflow as tf

    with tf.GradientTape() as tape:
        value = loss(model(inputs, training=training))
    found = tape.gradient(value, [variable.value for variable in model.trainable_variables])
    return [
        tf.convert_to_tensor(gradient) if isinstance(gradient, tf.IndexedSlices) else gradient for gradient in found
    ]


def _jax(model, inputs, loss, training):
    import jax

    fixed = [variable.value for variable in model.non_trainable_variables]

    def value(learned):
        return loss(model.stateless_call(learned, fixed, inputs, training=training)[0])

    return jax.grad(value)([variable.value for variable in model.trainable_variables])


def _torch(model, inputs, loss, training):
    import torch

    learned = [variable.value for variable in model.trainable_variables]
    found = torch.autograd.grad(loss(model(inputs, training=training)), learned, allow_unused=True)
    return [None if gradient is None else gradient.detach() for gradient in found]
