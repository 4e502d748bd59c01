"""Rematerialisation: the backward pass computes a layer again instead of keeping its activations."""

from typing import Any

import keras
from keras import ops


def rematerialized_call(layer: keras.layers.Layer, inputs: Any, **arguments: Any) -> Any:
    """Calls a layer in training so that the backward pass computes it again (Chen et al. 2016, section 3).

    Only the inputs are kept until then. Both passes draw the same random numbers, which are those without
    rematerialisation: each generator of the layer is assumed to be used once.

    Args:
        layer: A built layer without other state than generators of random numbers.
        inputs: Floats, the first argument of the layer.
        arguments: Further call arguments; gradients flow to all floats in them.

    Returns:
        The layer's output, one tensor.
    """
    states = [variable for variable in layer.non_trainable_variables if variable.name == "seed_generator_state"]
    drawn = [_value(state) for state in states]
    following = [value + ops.convert_to_tensor([0, 1], value.dtype) for value in drawn]  # As `SeedGenerator.next` does.
    flat = keras.tree.flatten(arguments)
    spots = [i for i, leaf in enumerate(flat) if ops.is_tensor(leaf) and "float" in str(leaf.dtype)]

    @keras.remat
    def run(inputs, *floats):
        # TensorFlow would draw all numbers early and keep them, unless they depend on inputs that come late.
        late = ops.any(ops.isnan(ops.reshape(inputs, (-1,))[:1]))
        leaves = list(flat)
        for spot, value in zip(spots, floats):
            leaves[spot] = value
        before = [_value(state) for state in states]
        try:
            _assign(states, [value + ops.cast(late, value.dtype) for value in drawn])
            return layer(inputs, **keras.tree.pack_sequence_as(arguments, leaves), training=True)
        finally:
            _assign(states, before)

    try:
        return run(inputs, *(flat[spot] for spot in spots))
    finally:
        _assign(states, following)  # Values that JAX traced are invalid outside of the trace.


def _value(state):
    return state.value * 1  # A copy, which later assignments do not change.


def _assign(states, values):
    for state, value in zip(states, values):
        state.assign(value)
