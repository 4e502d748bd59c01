"""Self-attention within a window, at a cost that grows with the length of the inputs, not with its square."""

from collections.abc import Callable
from typing import Any

from keras import ops

from keras_transformer.ops.attention import attend, attention_scores
from keras_transformer.ops.visibility import Visibility

_LEAST_STEPS = 16  # Of a block; smaller ones would be mostly overhead.


def block_steps(window: int) -> int:
    """Returns the steps of a block, such that a window reaches no further than into the blocks beside."""
    return max(window, _LEAST_STEPS)


def local_attention(
    query: Any, key: Any, value: Any, seen: Visibility, dropout: Callable | None = None
) -> tuple[Any, Any]:
    """Computes the output of `dot_product_attention` under a sliding window.

    Steps are cut into blocks of at least the window. The queries of a block attend to the keys of its own block, of the
    one before, and, if there is no causal mask, of the one behind (Beltagy et al. 2020, section 3.1, by blocks).

    Axes: B batch, T steps, N heads, H width of a head.

    Args:
        query: Float `[B, N, T, H]`.
        key: Float `[B * N, T, H]`.
        value: Float `[B * N, T, H']`.
        seen: Which keys each query sees, with a window, of steps that attend to themselves; its mask is None or the
            same for all queries, `[B, N, 1, T]`. A query that sees no key has zeros as output and passes back no
            gradient.
        dropout: Function applied to the weights before they multiply the values.

    Returns:
        The output `[B, N, T, H']`, and boolean `[B, N, T, 1]`, True at queries that see at least one key, with sizes of
        1 for what broadcasts.
    """
    (batch, heads, steps, width), out = ops.shape(query), value.shape[-1]
    size = block_steps(seen.window)
    size = min(size, max(1, steps)) if isinstance(steps, int) else ops.clip(steps, 1, size)
    count, beside = (steps + size - 1) // size, 1 if seen.causal else 2
    rows, spare = batch * heads, count * size - steps

    def blocks(x):
        """Cuts x `[R, T, *]` into blocks and adds those beside to each: `[R * blocks, steps, *]`."""
        x = ops.pad(x, [(0, 0), (size, spare + (beside - 1) * size), *[(0, 0)] * (len(x.shape) - 2)])
        x = ops.reshape(x, (-1, count + beside, size, *x.shape[2:]))
        return ops.concatenate([x[:, i : count + i] for i in range(beside + 1)], axis=2)

    own, theirs = ops.arange(size, dtype="int32")[:, None], ops.arange((beside + 1) * size, dtype="int32")[None] - size
    mask = ops.abs(theirs - own) < seen.window
    mask = ops.logical_and(mask, theirs <= own) if seen.causal else mask
    real = ops.ones((1, 1, 1, steps), "bool") if seen.mask is None else seen.mask
    outer = ops.shape(real)[:2]
    real = blocks(ops.reshape(real, (outer[0] * outer[1], steps)))
    mask = ops.reshape(ops.logical_and(mask, real[:, :, None]), (*outer, count, size, (beside + 1) * size))
    every = ops.broadcast_to(mask, (batch, heads, count, size, (beside + 1) * size))
    queries = ops.pad(ops.reshape(query, (rows, steps, width)), [(0, 0), (0, spare), (0, 0)])
    keys, values = (ops.reshape(blocks(x), (-1, (beside + 1) * size, x.shape[-1])) for x in (key, value))
    scores = attention_scores(ops.reshape(queries, (rows * count, 1, size, width)), keys)
    outputs, _ = attend(scores, values, ops.reshape(every, (rows * count, 1, size, (beside + 1) * size)), dropout)
    outputs = ops.reshape(outputs, (batch, heads, count * size, out))[:, :, :steps]
    visible = ops.reshape(ops.any(mask, axis=-1), (*outer, count * size, 1))[:, :, :steps]
    return outputs, visible
