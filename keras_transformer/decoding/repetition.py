"""Repetition in a search: loops of the same n-gram, and a penalty on tokens that have occurred."""

from typing import Any

from keras import ops

from keras_transformer.decoding.hypotheses import Step

LONGEST = 8
"""Maximum number of tokens of the n-grams that are looked at."""


def check_repeats(max_repeats: Any, end_id: int | None) -> None:
    """Raises `ValueError` if loops should end hypotheses that cannot end."""
    if max_repeats is not None and end_id is None:
        raise ValueError(
            "`max_repeats` ends hypotheses, which needs an end token. Received: end_id=None. Leave out one of the two."
        )


def no_runs(tokens: Any) -> Any:
    """Returns the runs of hypotheses without tokens, int32 `[..., LONGEST]`, for last tokens `[...]`."""
    return ops.repeat(ops.zeros_like(tokens)[..., None], LONGEST, axis=-1)


def extend_runs(runs: Any, ids: Any, tokens: Any, index: Any) -> Any:
    """Counts for each n how many tokens in a row, up to the last, equal the token n places before.

    Args:
        runs: Those of the hypotheses without the last token, int32 `[..., LONGEST]`.
        ids: Tokens of the hypotheses, `[..., L]`; those from `index` on do not matter.
        tokens: The token at `index`, `[...]`.
        index: Scalar, the place of the token.
    """
    places = index - 1 - ops.arange(LONGEST, dtype="int32")
    before = ops.take(ids, ops.maximum(places, 0), axis=-1)
    same = ops.logical_and(ops.equal(before, tokens[..., None]), places >= 0)
    return ops.where(same, runs + 1, 0)


def is_loop(runs: Any, max_repeats: Any) -> Any:
    """Returns boolean `[B, ...]`: hypotheses end with more than `max_repeats` `[B]` of the same n-gram in a row."""
    limits = ops.reshape(ops.cast(max_repeats, "int32"), (-1, *[1] * (len(runs.shape) - 1)))
    return ops.any(runs >= limits * (1 + ops.arange(LONGEST, dtype="int32")), axis=-1)


def count_repeats(ids: Any, pad_id: int = 0) -> Any:
    """Counts how often an n-gram follows itself at most, int32 `[B]`, in rows `[B, S]`; 1 if none does.

    It is what a translation that copies its source repeats, as `max_repeats` of a search has to allow.
    """
    steps = ops.arange(ops.shape(ids)[1], dtype="int32")
    until = steps[None, :] <= steps[:, None]
    most = ops.ones_like(ids[:, 0])
    for n in range(1, LONGEST + 1):
        before = ops.take(ids, ops.maximum(steps - n, 0), axis=1)
        same = ops.logical_and(ops.equal(ids, before), ops.logical_and(steps >= n, ops.not_equal(ids, pad_id)))
        # The length of a run is the distance to the last place at which it was interrupted.
        broken = ops.max(ops.where(ops.logical_and(until, ops.logical_not(same)[:, None, :]), steps, -1), axis=-1)
        most = ops.maximum(most, 1 + ops.max(steps - broken, axis=-1) // n)
    return most


def with_repetition_penalty(step: Step, state: Any, penalty: float, seen: Any) -> tuple[Step, Any]:
    """Returns a step function and its initial state that make tokens less probable that have occurred.

        z_v <- z_v / penalty if z_v > 0, else z_v * penalty,  for each token v that has occurred

    (Keskar et al. 2019, section 4.1, with the product for negative logits that is usual since.) Every search of
    `keras_transformer.decoding` takes them instead of the originals; its log-probabilities are those of the changed
    logits.
    Axes: rows are B sentences times K beams, V vocabulary.

    Args:
        step, state: As for the search; see `decoding/hypotheses.py`.
        penalty: 1 for none; usually up to 1.5.
        seen: Boolean `[rows, V]`, True at tokens that have occurred before the first step, such as those of a prompt.

    Raises:
        ValueError: If `penalty` is not positive.
    """
    if not penalty > 0:
        raise ValueError(f"`penalty` must be positive. Received: penalty={penalty}. Use 1 for none.")

    def penalized_step(token_ids, states, index):
        own, seen = states
        logits, own = step(token_ids, own, index)
        here = ops.equal(ops.arange(logits.shape[-1], dtype="int32"), ops.cast(token_ids, "int32")[:, None])
        seen = ops.logical_or(seen, here)
        logits = ops.cast(logits, "float32")
        changed = ops.where(logits > 0, logits / penalty, logits * penalty)
        return ops.where(seen, changed, logits), (own, seen)

    return penalized_step, (state, seen)
