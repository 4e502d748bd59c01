"""Selection of the most probable tokens of a large vocabulary, in few passes over it."""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformer.decoding.hypotheses import IMPOSSIBLE, LEAST_LOG_PROB
from keras_transformer.ops.gather import gather
from keras_transformer.ops.once import once
from keras_transformer.ops.sizes import row_starts
from keras_transformer.ops.sizes import size as size_of


def log_normalizer(logits: Any) -> Any:
    """Computes `log sum_v exp z_v` for every row of float32 logits `[rows, V]`."""
    largest = ops.max(_group_maxima(logits), axis=-1)
    return largest + ops.log(ops.sum(ops.exp(logits - largest[:, None]), axis=-1))


def log_probs_of(logits: Any, normalizer: Any, token_ids: Any) -> Any:
    """Computes log-probabilities `[rows]` of one token per row of logits `[rows, V]`, at least `LEAST_LOG_PROB`."""
    return ops.maximum(pick(logits, token_ids) - normalizer, LEAST_LOG_PROB)


def best_tokens(logits: Any, normalizer: Any, count: int, never: set[int]) -> tuple[Any, Any]:
    """Returns log-probabilities and tokens `[rows, C]`, with the best `count` outside of `never` among them.

    Tokens of `never` are `IMPOSSIBLE`. The others are not renormalised: they keep the model's probabilities.
    """
    values, token_ids = top_k(logits, min(count + len(never), logits.shape[-1]))
    log_probs = ops.maximum(values - normalizer[:, None], LEAST_LOG_PROB)
    for token_id in never:
        log_probs = ops.where(ops.equal(token_ids, token_id), IMPOSSIBLE, log_probs)
    return log_probs, token_ids


def rule_out(logits: Any, never: set[int]) -> Any:
    """Sets logits `[rows, V]` to `IMPOSSIBLE` at the tokens of `never`, and to at least `LEAST_LOG_PROB` elsewhere."""
    ruled_out = np.isin(np.arange(logits.shape[-1]), list(never))
    return ops.where(ruled_out, IMPOSSIBLE, ops.maximum(logits, LEAST_LOG_PROB))


def first_k(x: Any, k: int) -> tuple[Any, Any]:
    """Computes `ops.top_k` of the last axis with the first of equal values first, which torch does not promise."""
    if keras.backend.backend() != "torch":
        return ops.top_k(x, k)
    indices = ops.argsort(ops.negative(x), axis=-1)[..., :k]  # Stable.
    return ops.take_along_axis(x, indices, axis=-1), indices


def top_k(x: Any, k: int) -> tuple[Any, Any]:
    """Computes `ops.top_k` of `[rows, V]`, with the same order of ties, in little more than one pass over V.

    The k largest numbers lie in the k groups with the largest maxima; only those groups are sorted.
    """
    size = x.shape[-1]
    group = _group_size(size)
    if group is None or k > size // group:
        values, indices = first_k(x, k)
        return values, ops.cast(indices, "int32")
    groups = ops.reshape(x, (-1, size // group, group))
    _, best = first_k(_group_maxima(x), k)
    best = ops.sort(ops.cast(best, "int32"), axis=-1)  # Ties go to the first index, hence in the order of the groups.
    first = ops.expand_dims(row_starts(size_of(x, 0), size // group), 1)
    members = gather(ops.reshape(groups, (-1, group)), ops.reshape(best + first, (-1,)))
    values, positions = first_k(ops.reshape(members, (-1, k * group)), k)
    positions = ops.cast(positions, "int32")
    return values, pick(best, positions // group) * group + positions % group


def pick(x: Any, positions: Any) -> Any:
    """Returns `x[r, positions[r]]` for x `[rows, C]` and int32 positions `[rows]` or `[rows, k]`."""
    first = row_starts(size_of(x, 0), x.shape[-1])
    places = positions + (first if len(positions.shape) == 1 else ops.expand_dims(first, 1))
    taken = gather(ops.reshape(x, (-1,)), places)
    if taken.shape == positions.shape:
        return taken
    return ops.reshape(taken, ops.shape(positions))  # JAX forgets the shape where there are no rows.


@once
def _group_maxima(x):
    """Returns the maxima `[rows, G]` of the groups of x `[rows, V]`, or x if there are no groups."""
    group = _group_size(x.shape[-1])
    return x if group is None else ops.max(ops.reshape(x, (-1, x.shape[-1] // group, group)), axis=-1)


def _group_size(size):
    """Returns the divisor of `size` nearest to its root; None if groups would not save time."""
    divisors = [group for group in range(8, 257) if size % group == 0]
    return min(divisors, key=lambda group: abs(group - size**0.5)) if divisors and size >= 512 else None
