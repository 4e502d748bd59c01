"""Attention over long sequences in memory that grows with their length, not with its square."""

from collections.abc import Callable
from typing import Any

from keras import ops

from keras_transformer.ops.attention import MASKED_SCORE, scaled, softmax, widened
from keras_transformer.ops.masks import visible_rows
from keras_transformer.ops.precision import at_least_float32
from keras_transformer.ops.visibility import Visibility

LONG = 2**22  # Query steps times key steps from which blocks cost no time: 2,048 each.
_SCORES = 2**21  # Scores of a block: 8 MB of float32 stay in the caches of a processor.
_MIN_STEPS = 16  # Smaller blocks would be mostly overhead.


def blockwise_attention(
    query: Any, key: Any, value: Any, seen: Visibility, bias: Callable | None = None, scores_at_a_time: int = _SCORES
) -> tuple[Any, Any]:
    """Computes the output of `dot_product_attention` block by block, without keeping its weights.

    A block of query steps attends to all keys, so each row has its whole softmax. The gradient computes the weights
    again (Rabe & Staats 2021, section 3; Dao et al. 2022, appendix B). There are no second-order gradients.

    Axes: B batch, T query steps, S key steps, N heads, H width of a head.

    Args:
        query: Float `[B, N, T, H]`.
        key: Float `[B * N, S, H]`.
        value: Float `[B * N, S, H']`.
        seen: Which keys each query sees. A query that sees none has zeros as output and passes back no gradient.
        bias: Function of query and key positions `[t]` and `[S]` that returns what to add to the scores of those steps,
            float `[B, N, t, S]` or broadcastable to it. A constant: it gets no gradient.
        scores_at_a_time: Largest B * N * t * S of a block; more if t would be below 16.

    Returns:
        The output `[B, N, T, H']`, and boolean `[B, N, T, 1]`, True at queries that see at least one key, with sizes of
        1 for what broadcasts; None if all queries do.
    """
    batch, heads, steps, width = ops.shape(query)
    rows, keys = batch * heads, ops.shape(key)[1]
    size, count = _block_sizes(steps, scores_at_a_time // (rows * keys))
    padded = seen.padded(size * count)

    def scores_of(queries, keys_transposed, start):
        """Returns scores `[B * N, t, S]` of a block, at least float32, and which queries `[B * N, t, 1]` see a key."""
        scores, visible = at_least_float32(ops.matmul(widened(queries), keys_transposed)), None
        mask = padded.rows(start, size)
        if mask is None and bias is None:
            return scores, visible
        scores = ops.reshape(scores, (batch, heads, size, keys))
        if bias is not None:
            positions = ops.slice(padded.query_positions, (start,), (size,))
            scores = scores + ops.cast(bias(positions, padded.key_positions), scores.dtype)
        if mask is not None:
            scores = ops.where(mask, scores, MASKED_SCORE)
            visible = ops.broadcast_to(visible_rows(mask), (batch, heads, size, 1))
            visible = ops.reshape(visible, (rows, size, 1))
        return ops.reshape(scores, (rows, size, keys)), visible

    @ops.custom_gradient
    def attend(query, key, value):
        keys_transposed = widened(ops.swapaxes(key, 1, 2))

        def forward(start, outputs):
            scores, visible = scores_of(_steps(query, start, size), keys_transposed, start)
            found = _hidden(ops.matmul(ops.cast(softmax(scores), value.dtype), value), visible)
            return start + size, ops.slice_update(outputs, (0, start, 0), found)

        outputs = ops.zeros((rows, size * count, ops.shape(value)[-1]), value.dtype)
        [outputs] = _loop(size * count, forward, outputs)

        def gradient(*args, upstream=None):
            upstream = args[0] if upstream is None else upstream
            values_transposed = ops.swapaxes(value, 1, 2)

            def backward(start, of_query, of_key, of_value):
                queries = _steps(query, start, size)
                scores, visible = scores_of(queries, keys_transposed, start)
                weights = softmax(scores)
                of_outputs = _hidden(_steps(upstream, start, size), visible)
                of_value = of_value + _outer(of_outputs, ops.cast(weights, value.dtype))
                of_weights = weights * at_least_float32(ops.matmul(of_outputs, values_transposed))
                of_scores = of_weights - weights * ops.sum(of_weights, axis=-1, keepdims=True)
                of_scores = ops.cast(of_scores, query.dtype)
                of_query = ops.slice_update(of_query, (0, start, 0), ops.matmul(of_scores, key))
                return start + size, of_query, of_key + _outer(queries, of_scores), of_value

            sums = [at_least_float32(ops.zeros_like(x)) for x in (keys_transposed, values_transposed)]
            of_query, *sums = _loop(size * count, backward, ops.zeros_like(query), *sums)
            return of_query, *(ops.cast(ops.swapaxes(x, 1, 2), value.dtype) for x in sums)

        return outputs, gradient

    query = ops.reshape(scaled(query), (rows, steps, width))
    query = ops.concatenate([query, ops.zeros((rows, size * count - steps, width), query.dtype)], axis=1)
    outputs = attend(query, key, value)[:, :steps]
    return ops.reshape(outputs, (batch, heads, steps, ops.shape(value)[-1])), _visible(seen, padded, size, count)


def _visible(seen, padded, size, count):
    """Returns `seen.visible_rows()`, computed in blocks where rules on positions would need a whole mask."""
    if seen.every_query_sees or not seen.has_rules:
        return seen.visible_rows()

    def body(start, found):
        return start + size, ops.slice_update(found, (0, 0, start, 0), visible_rows(padded.rows(start, size)))

    outer = (1, 1) if seen.mask is None else ops.shape(seen.mask)[:2]
    [found] = _loop(size * count, body, ops.zeros((*outer, size * count, 1), "bool"))
    return found[:, :, : ops.shape(seen.query_positions)[0]]


def _block_sizes(steps, most):
    """Returns the steps of a block, at most `most` or `_MIN_STEPS`, and the number of blocks, all about full."""
    known = isinstance(steps, int) and isinstance(most, int)
    smaller, larger = (min, max) if known else (ops.minimum, ops.maximum)
    most = smaller(larger(most, _MIN_STEPS), steps)
    count = (steps + most - 1) // most
    return (steps + count - 1) // count, count


def _steps(x, start, steps):
    rows, _, width = ops.shape(x)
    return ops.slice(x, (0, start, 0), (rows, steps, width))


def _hidden(x, visible):
    return x if visible is None else ops.where(visible, x, ops.zeros((), x.dtype))


def _outer(x, y):
    """Sums `[R, T, H]` times `[R, T, S]` over steps to `[R, H, S]`, float32 or float64; transposes the smaller one."""
    return at_least_float32(ops.matmul(ops.swapaxes(x, 1, 2), y))


def _loop(end, body, *carried):
    start = ops.convert_to_tensor(0, "int32")
    return ops.while_loop(lambda start, *_: start < end, body, (start, *carried))[1:]
