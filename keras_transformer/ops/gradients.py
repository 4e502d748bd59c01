"""Gradients on any backend, for which Keras has no function."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np


def weight_gradients(
    model: keras.Model, inputs: Any, loss: Callable[[Any], Any], training: bool = False
) -> list[np.ndarray | None]:
    """Computes the gradients of `loss(model(inputs, training))` with respect to `model.trainable_variables`.

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


def vector_jacobian_products(
    function: Callable[[list], list], inputs: list[Any], vectors: list[list[np.ndarray]]
) -> list[list[np.ndarray]]:
    """Computes the gradients of `sum_i sum(function(inputs)[i] * vector[i])` with respect to `inputs`.

    There is one product for each vector. The function is called once. It must not change a variable.

    Args:
        function: Maps a list of float tensors to a list of float tensors.
        inputs: Argument of `function`.
        vectors: For each product one array per output, of the output's shape.

    Returns:
        For each vector one array per input, of the input's shape; zeros where no output depends on it.
    """
    find = {"tensorflow": _tensorflow_products, "jax": _jax_products, "torch": _torch_products}
    found = find[keras.backend.backend()](function, inputs, vectors)
    return [[keras.ops.convert_to_numpy(keras.ops.cast(part, "float32")) for part in product] for product in found]


def _like(vector, outputs):
    return [keras.ops.convert_to_tensor(part, output.dtype) for part, output in zip(vector, outputs)]


def _tensorflow_products(function, inputs, vectors):
    import tensorflow as tf

    with tf.GradientTape(persistent=True) as tape:
        tape.watch(inputs)
        outputs = function(inputs)
    for vector in vectors:
        found = tape.gradient(outputs, inputs, _like(vector, outputs), unconnected_gradients="zero")
        yield [tf.convert_to_tensor(gradient) for gradient in found]


def _jax_products(function, inputs, vectors):
    import jax

    outputs, product = jax.vjp(function, inputs)
    for vector in vectors:
        yield product(_like(vector, outputs))[0]


def _torch_products(function, inputs, vectors):
    import torch

    inputs = [array.detach().requires_grad_(True) for array in inputs]
    outputs = function(inputs)
    for vector in vectors:
        pairs = [pair for pair in zip(outputs, _like(vector, outputs)) if pair[0].requires_grad]
        found = [None] * len(inputs)
        if pairs:
            values, weights = zip(*pairs)
            found = torch.autograd.grad(values, inputs, weights, retain_graph=True, allow_unused=True)
        yield [torch.zeros_like(array) if part is None else part for array, part in zip(inputs, found)]
