"""Mask-predict: all tokens at once, and the least certain of them again."""

from collections.abc import Callable
from typing import Any

from keras import ops

from keras_transformer.decoding import candidates, hypotheses

_KEPT, _LAST = 1.0, 1e30  # Above all log-probabilities.
_BLANK = -1e3  # Takes those of blanks below all others.


def mask_predict(
    step: Callable[[Any, Any], Any],
    *,
    lengths: Any,
    iterations: int,
    mask_id: int,
    pad_id: int = 0,
    end_id: int | None = None,
    never: tuple[int, ...] = (),
    blank_id: int | None = None,
    max_length: Any = None,
) -> tuple[Any, Any]:
    """Runs mask-predict (Ghazvininejad et al. 2019, section 3.2), for models that predict all tokens at once.

        n_t = floor(N (T - t) / T),  y_i = argmax_v p(v | X, y_observed)  for the n_t tokens i with the lowest p_i

    Iteration t = 0 predicts all N tokens, and each further one of the T masks the n_t tokens of the lowest probability
    and predicts them again, given the others.
    Axes: R rows, L tokens, M masked tokens of all rows, V vocabulary.

    Args:
        step: `step(token_ids [R, L], places [M]) -> logits [M, V]`, the logits at some places of the rows, counted from
            0 to R * L - 1, row after row. Where programs are compiled for known widths, these are all places.
        lengths: Integers `[R]`, the tokens N of each row.
        iterations: Number T of predictions.
        mask_id: Token that stands for what is to be predicted. Never predicted.
        pad_id: Fills the ids behind the length. Never predicted.
        end_id: If given, a row ends with its first end token, which is one of its N tokens then. What is behind it is
            predicted anew in each iteration, as no one knows where the end will be.
        never: Further tokens that are never predicted.
        blank_id: If given, the rows are alignments, in which this token stands at positions without one. What was kept
            once stays, as in the Imputer (Saharia et al. 2020), since of a token at two positions, one could become
            another word; and blanks are masked before all others, so that they are the last to be decided.
        max_length: Width L, as for `greedy_search`.

    Returns:
        Int32 ids `[R, L]`, and float32 log-probabilities `[R, L]` of the model when it predicted them. With an end
        token, what is behind it is `pad_id`. The log-probability of padding is 0.

    Raises:
        ValueError: If an argument or the logits do not fit.
    """
    hypotheses.check_tokens(mask_id=mask_id, pad_id=pad_id, end_id=end_id, blank_id=blank_id)
    hypotheses.check_count("iterations", iterations, 1)
    lengths, width = hypotheses.resolve_limits(lengths, max_length)
    ruled_out = {mask_id, pad_id, *never} - {end_id}
    steps = ops.arange(width, dtype="int32")[None]
    real = steps < lengths[:, None]

    def ends(ids):
        """Returns how many tokens `[R]` each row has, its end included."""
        if end_id is None:
            return lengths
        ended = ops.logical_and(ops.equal(ids, end_id), real)
        return ops.min(ops.where(ended, steps + 1, lengths[:, None]), axis=1)

    def certainty(ids, log_probs, masked):
        if blank_id is None:
            return log_probs
        return ops.where(masked, ops.where(ops.equal(ids, blank_id), log_probs + _BLANK, log_probs), _KEPT)

    def body(index, ids, log_probs, masked):
        kept = ends(ids)
        # All that is behind the end comes first: its log-probabilities are below all others.
        counts = kept * (iterations - index) // iterations + lengths - kept
        keys = ops.where(steps < kept[:, None], certainty(ids, log_probs, masked), -_LAST)
        order = ops.cast(ops.argsort(ops.where(real, keys, _LAST), axis=1), "int32")
        rank = ops.cast(ops.argsort(order, axis=1), "int32")
        masked = rank < counts[:, None]
        places, spread = _places(masked, all_places=isinstance(width, int))
        found, values = _best(step(ops.where(masked, mask_id, ids), places), ruled_out)
        return index + 1, ops.where(masked, spread(found), ids), ops.where(masked, spread(values), log_probs), masked

    ids = ops.where(real, mask_id, pad_id)
    start = ops.convert_to_tensor(0, "int32"), ids, ops.zeros_like(ids, "float32"), real
    _, ids, log_probs, _ = ops.while_loop(lambda index, *_: index < iterations, body, start)
    kept = steps < ends(ids)[:, None]
    return ops.where(kept, ids, pad_id), ops.where(kept, log_probs, 0.0)


def _places(masked, all_places):
    """Returns the places `[M]` of masked tokens `[R, L]`, and a function that spreads values at them to `[R, L]`."""
    shape, flat = ops.shape(masked), ops.reshape(masked, (-1,))
    if all_places:
        return ops.arange(shape[0] * shape[1], dtype="int32"), lambda values: ops.reshape(values, shape)
    ranks = ops.maximum(ops.cumsum(ops.cast(flat, "int32")) - 1, 0)

    def spread(values):  # There may be none.
        return ops.reshape(ops.take(ops.pad(values, [(0, 1)]), ranks, axis=0), shape)

    return ops.cast(ops.nonzero(flat)[0], "int32"), spread


def _best(logits, ruled_out):
    """Returns the most probable tokens `[M]` outside of `ruled_out`, and their log-probabilities."""
    if len(logits.shape) != 2 or logits.shape[-1] is None or logits.shape[-1] <= max(ruled_out):
        raise ValueError(
            f"`step` must return logits [places, V] with a V above {max(ruled_out)}. "
            f"Received: logits.shape={tuple(logits.shape)}. Check that tokenizer and model have the same vocabulary."
        )
    logits = ops.cast(logits, "float32")
    log_probs, token_ids = candidates.best_tokens(logits, candidates.log_normalizer(logits), 1, ruled_out)
    return candidates.pick(token_ids, ops.cast(ops.argmax(log_probs, axis=-1), "int32")), ops.max(log_probs, axis=-1)
