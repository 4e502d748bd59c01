"""Sizes of tensors, computed once: a graph that computes the same sizes again and again is slow to trace and to run."""

from collections.abc import Sequence
from typing import Any

from keras import ops

from keras_transformer.ops.once import once

# Attributes of tensors in TensorFlow graphs.
_SIZES, _FLAT = "keras_transformer_sizes", "keras_transformer_flat"
_SOURCE = "keras_transformer_source"  # The tensor that a tensor was reshaped from.


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


def size(x: Any, axis: int) -> Any:
    """Returns one size of a tensor: an integer if it is known, else an integer scalar; see `sizes`."""
    known = x.shape[axis]
    return known if isinstance(known, int) else sizes(x)[axis]


def reshape(x: Any, shape: Sequence) -> Any:
    """Reshapes a tensor to sizes without -1."""
    source = getattr(x, _SOURCE, x)
    outputs = ops.reshape(source, _target(x, shape))
    _remember(outputs, _SIZES, tuple(shape), *shape)
    _remember(outputs, _SOURCE, source, source)
    return outputs


def _target(x, shape):
    """Returns the argument of `ops.reshape`, in a TensorFlow graph a tensor that is made once, if possible constant."""
    if not hasattr(x, "graph"):
        return tuple(shape)
    known = [size for size in shape if isinstance(size, int)]
    if len(shape) - len(known) <= 1 and 0 not in known:
        shape = [size if isinstance(size, int) else -1 for size in shape]
    return stacked(*shape)


@once
def stacked(*values: Any) -> Any:
    """Returns int32 numbers, of which some may be tensors, as one tensor."""
    if all(isinstance(value, int) for value in values):
        return ops.convert_to_tensor(values, "int32")
    return ops.stack([ops.cast(value, "int32") for value in values])


@once
def numbers(count: Any) -> Any:
    """Returns the int32 numbers from 0 to `count - 1`."""
    return ops.arange(count, dtype="int32")


@once
def row_starts(rows: Any, width: Any) -> Any:
    """Returns the places `[rows]` at which the rows of a flattened `[rows, width]` start."""
    return numbers(rows) * width


@once
def product(size: Any, other: Any) -> Any:
    """Multiplies two sizes."""
    return size * other


@once
def quotient(size: Any, divisor: Any) -> Any:
    """Divides a size by one of its divisors."""
    return size if isinstance(divisor, int) and divisor == 1 else size // divisor


def transpose(x: Any, axes: Sequence[int]) -> Any:
    """Permutes the axes of a tensor."""
    known = sizes(x)
    if any(isinstance(known[axis], int) and known[axis] == 1 for axis in axes) and _keeps_order(known, axes):
        return reshape(x, tuple(known[axis] for axis in axes))
    outputs = ops.transpose(x, axes)
    _remember(outputs, _SIZES, tuple(known[axis] for axis in axes), *known)
    return outputs


def _keeps_order(known, axes):
    """Returns whether the axes that have more than one element, or may have, are in order."""
    moved = [axis for axis in axes if not isinstance(known[axis], int) or known[axis] != 1]
    return moved == sorted(moved)


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
        flat = ops.reshape(
            getattr(x, _SOURCE, x), stacked(-1, x.shape[-1]) if hasattr(x, "graph") else (-1, x.shape[-1])
        )
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
