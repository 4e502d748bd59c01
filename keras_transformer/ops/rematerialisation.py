"""Rematerialisation: the backward pass computes a layer again instead of keeping its activations."""

from typing import Any

import keras
from keras import ops


def rematerialized_call(layer: keras.layers.Layer, inputs: Any, **arguments: Any) -> Any:
    """Calls a layer in training so that the backward pass computes it again (Chen et al. 2016, section 3).

    Only the inputs are kept until then. Both passes draw the same random numbers, which are those without
    rematerialisation: each generator of the layer is assumed to be used once. Both begin with the same other state,
    such as statistics of normalisations, and only the first changes it.

    Args:
        layer: A built layer. Its state besides generators of random numbers is of floats.
        inputs: Floats, the first argument of the layer.
        arguments: Further call arguments; gradients flow to all floats in them.

    Returns:
        The layer's output, one tensor.
    """
    states = [variable for variable in layer.non_trainable_variables if variable.name == "seed_generator_state"]
    others = [variable for variable in layer.non_trainable_variables if variable.name != "seed_generator_state"]
    drawn, start = [_value(state) for state in states], [_value(state) for state in others]
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
        before = [_value(state) for state in (*states, *others)]
        try:
            _assign(states, [value + ops.cast(late, value.dtype) for value in drawn])
            _assign(others, start)
            outputs = layer(inputs, **keras.tree.pack_sequence_as(arguments, leaves), training=True)
            return outputs, *(_value(state) for state in others)
        finally:
            _assign((*states, *others), before)

    ended = start
    try:
        outputs, *ended = run(inputs, *(flat[spot] for spot in spots))
        return outputs
    finally:
        # Values that JAX traced are invalid outside of the trace.
        _assign((*states, *others), (*following, *ended))


def _value(state):
    return state.value * 1  # A copy, which later assignments do not change.


def _assign(states, values):
    for state, value in zip(states, values):
        state.assign(value)
