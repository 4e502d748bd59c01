"""Sizes of tensors, computed once: a graph that computes the same sizes again and again is slow to trace and to run."""

from collections.abc import Sequence
from typing import Any

from keras import ops

# Attributes of tensors in TensorFlow graphs.
_SIZES, _FLAT = "keras_transformer_sizes", "keras_transformer_flat"


def sizes(x: Any) -> tuple:
    """Returns the sizes of a tensor as `keras.ops.shape` does: integers where they are known, else integer scalars.

    In a TensorFlow graph, sizes that the tensor has got from `reshape`, `transpose` or `keep_sizes`, or that were
    computed before, are not computed again.
    """
    if all(isinstance(size, int) for size in x.shape):
        return tuple(x.shape)
    known = getattr(x, _SIZES, None)
    if known is None:
        known = tuple(ops.shape(x))
        _remember(x, _SIZES, known, *known)
    return known


def reshape(x: Any, shape: Sequence) -> Any:
    """Reshapes a tensor to sizes without -1."""
    outputs = ops.reshape(x, shape)
    _remember(outputs, _SIZES, tuple(shape), *shape)
    return outputs


def transpose(x: Any, axes: Sequence[int]) -> Any:
    """Permutes the axes of a tensor."""
    outputs, known = ops.transpose(x, axes), sizes(x)
    _remember(outputs, _SIZES, tuple(known[axis] for axis in axes), *known)
    return outputs


def keep_sizes(outputs: Any, inputs: Any) -> Any:
    """Returns `outputs`, which have the sizes of `inputs`: for operations that change values only."""
    if outputs is not inputs and tuple(outputs.shape) == tuple(inputs.shape):
        known = sizes(inputs)
        _remember(outputs, _SIZES, known, *known)
    return outputs


def flattened(x: Any) -> Any:
    """Reshapes `[..., D]` to `[N, D]`; in a TensorFlow graph once for each tensor."""
    if len(x.shape) == 2:
        return x
    flat = getattr(x, _FLAT, None)
    if flat is None:
        flat = ops.reshape(x, (-1, x.shape[-1]))
        _remember(x, _FLAT, flat, flat)
    return flat


def unflattened(flat: Any, outer: Sequence) -> Any:
    """Reshapes `[N, D]` to `[*outer, D]`."""
    outputs = reshape(flat, (*outer, flat.shape[-1]))
    _remember(outputs, _FLAT, flat, flat)
    return outputs


def _remember(x, attribute, value, *parts):
    """Sets an attribute of a tensor in a TensorFlow graph, if all parts of its value are in the same graph.

    Parts of another graph, such as that of a branch of a condition, could not be used wherever the tensor is.
    """
    graph = getattr(x, "graph", None)
    if graph is not None and all(isinstance(part, int) or getattr(part, "graph", None) is graph for part in parts):
        setattr(x, attribute, value)
