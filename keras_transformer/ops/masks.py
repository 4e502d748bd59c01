"""Boolean masks, True at what attention may see; axes B batch, T query steps, S key steps."""

from typing import Any

import keras
from keras import ops

from keras_transformer.ops.once import once
from keras_transformer.ops.values import known_values


def padding_mask(token_ids: Any, pad_id: int = 0) -> Any:
    """Returns the padding mask of ids `[B, T]`: boolean, of the same shape, True at real tokens."""
    return ops.not_equal(token_ids, pad_id)


def causal_mask(query_steps: Any, key_steps: Any, offset: Any = 0, beams: Any = 1) -> Any:
    """Returns the causal mask `[1, T, S]`: query step t, step t + offset of its sequence, sees keys up to itself.

    With K = `beams`, the queries are those of K beams, one after the other, and each step of the keys has K slots.
    """
    ahead = ops.expand_dims(key_positions(key_steps, beams), 0) - ops.expand_dims(
        query_positions(query_steps, offset, beams), 1
    )
    return ops.expand_dims(ahead <= 0, 0)


@once
def query_positions(steps: Any, offset: Any = 0, beams: Any = 1) -> Any:
    """Returns the positions of query steps in their sequences, int32 `[T]`; see `causal_mask`."""
    own = ops.arange(steps, dtype="int32")
    return (own if _one(beams) else own % (steps // beams)) + ops.cast(offset, "int32")


@once
def key_positions(steps: Any, beams: Any = 1) -> Any:
    """Returns the positions of key steps in their sequences, int32 `[S]`; see `causal_mask`."""
    positions = ops.arange(steps, dtype="int32")
    return positions if _one(beams) else positions // beams


def _one(beams):
    return isinstance(beams, int) and beams == 1


def merge(*masks: Any) -> Any:
    """Merges masks by logical and, leaving out those that are None; returns None if all are."""
    merged = None
    for mask in masks:
        if mask is not None:
            merged = mask if merged is None else _both(merged, mask)
    return merged


@once
def _both(mask, other):
    return ops.logical_and(mask, other)


@once
def for_all_queries(padding: Any) -> Any:
    """Converts a padding mask `[B, S]` to `[B, 1, 1, S]`."""
    return ops.expand_dims(padding, (1, 2))  # LiteRT has no slice that adds axes.


@once
def seen_by_any_head(visible: Any) -> Any:
    """Reduces `[B, N, T, 1]` to `[B, T, 1]`."""
    return ops.any(visible, axis=1)


@once
def rule(key_positions: Any, positions: Any, causal: bool, window: int | None) -> Any:
    """Returns the mask `[1, 1, T, S]` of a causal rule, of a window, or of both."""
    ahead = ops.expand_dims(key_positions, 0) - ops.expand_dims(positions, 1)
    hidden = [ahead <= 0] if causal else []
    if window is not None:
        hidden.append(ops.abs(ahead) < window)
    return ops.expand_dims(merge(*hidden), (0, 1))


def attached_mask(inputs: Any, *explicit: Any) -> Any:
    """Returns the first explicit mask that is not None, else the one that Keras attached to `inputs`, else None.

    Keras fills `mask` when a layer receives one tensor and `<argument>_mask` when it receives several, so
    layers that allow both pass both. Inside `jax.jit` tensors cannot carry a mask, and those that Keras
    fills in are the only ones.
    """
    for mask in explicit:
        if mask is not None:
            return mask
    return getattr(inputs, "_keras_mask", None)


@once
def visible_rows(mask: Any) -> Any:
    """Reduces a mask `[..., T, S]` to `[..., T, 1]`, True for queries that see at least one key."""
    return ops.any(mask, axis=-1, keepdims=True)


def attention_mask(mask: Any, shape: tuple) -> Any:
    """Converts a mask as Keras takes it to boolean `[B, N, T, S]`, with sizes of 1 for what broadcasts.

    Args:
        mask: `[T, S]`, `[B, T, S]` or `[B, N, T, S]`, boolean or 0 and 1 of any dtype; a size of 1 broadcasts.
        shape: Sizes B, N, T, S; None where unknown.

    Raises:
        ValueError: If the shape is not one of these, or eager values are not all 0 or 1.
    """
    batch, heads, steps, keys = shape
    check_shape("attention_mask", mask, (batch, heads, steps, keys), (batch, steps, keys), (steps, keys))
    dtype = keras.backend.standardize_dtype(mask.dtype)
    if dtype != "bool":
        values = known_values(mask)
        if values is not None and not ((values == 0) | (values == 1)).all():
            raise ValueError(
                "`attention_mask` must be boolean or hold 0 and 1, which is True where a query may see a key. "
                f"Received: dtype={dtype}, values from {values.min()} to {values.max()}. "
                "Instead of a mask that is added to scores, pass `mask == 0`."
            )
        mask = ops.cast(mask, "bool")
    mask = ops.convert_to_tensor(mask)
    missing = {2: (0, 1), 3: (1,), 4: ()}[len(mask.shape)]
    return _with_axes(mask, missing) if missing else mask


@once
def _with_axes(mask, axes):
    return ops.expand_dims(mask, axes)


def check_mask(name: str, mask: Any, *expected: tuple) -> None:
    """Raises `ValueError` unless `mask` is boolean and fits one of the shapes, in which None fits any size.

    A size of 1 fits as well: masks broadcast.
    """
    if mask is None:
        return
    dtype = keras.backend.standardize_dtype(mask.dtype)
    if dtype != "bool":
        raise ValueError(
            f"`{name}` must be boolean {_named(expected)}, True at what attention may see. "
            f"Received: dtype={dtype}, shape={tuple(mask.shape)}. Cast it, for example `mask != 0`."
        )
    check_shape(name, mask, *expected)


def check_shape(name: str, mask: Any, *expected: tuple) -> None:
    """Raises `ValueError` unless `mask` fits one of the shapes; see `check_mask`."""
    received = tuple(mask.shape)
    if not any(_fits(received, shape) for shape in expected):
        raise ValueError(
            f"`{name}` must have shape {_named(expected)}. Received: shape={received}. "
            "Check the order of the axes: batch, query steps, key steps."
        )


def _named(shapes):
    return " or ".join("[" + ", ".join("?" if d is None else str(d) for d in s) + "]" for s in shapes)


def _fits(received, expected):
    # A size that is unknown is None, on JAX a symbol.
    return len(received) == len(expected) and all(
        size in (1, wanted)
        for size, wanted in zip(received, expected)
        if isinstance(size, int) and isinstance(wanted, int)
    )
