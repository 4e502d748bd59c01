"""Constraints on the tokens of a search: a mask on the logits that depends on each hypothesis."""

from collections.abc import Callable
from typing import Any

from keras import ops

from keras_transformer.decoding.hypotheses import IMPOSSIBLE, Step

Constraint = Callable[[Any, Any, Any], tuple[Any, Any]]


def constrained(step: Step, state: Any, constraint: Constraint, constraint_state: Any, pad_id: int = 0) -> tuple:
    """Returns a step function and its initial state that give probability to allowed tokens only.

    Every search of `keras_transformer.decoding` takes them instead of the originals. Allowed tokens are not
    renormalised: they keep the model's log-probabilities, and the probability of forbidden tokens goes to the padding,
    which no search selects. If at least one token is allowed at each step, the best hypothesis obeys the constraint.
    Axes: rows are B sentences times K beams, V vocabulary.

    Args:
        step, state: As for the search; see `decoding/hypotheses.py`.
        constraint: `constraint(token_ids [rows], state, index) -> (allowed [rows, V], state)`: given the last
            tokens (at index 0 the start), returns which tokens may follow.
        constraint_state: State of `constraint` for each hypothesis: a nest of tensors `[rows, ...]`, reordered with
            the beams.
        pad_id: Padding of the search.

    Returns:
        `(step, state)`.
    """

    def constrained_step(token_ids, states, index):
        own, of_constraint = states
        logits, own = step(token_ids, own, index)
        allowed, of_constraint = constraint(token_ids, of_constraint, index)
        return _rule_out(ops.cast(logits, "float32"), allowed, pad_id), (own, of_constraint)

    return constrained_step, (state, constraint_state)


def _rule_out(logits, allowed, pad_id):
    is_pad = ops.equal(ops.arange(logits.shape[-1]), pad_id)
    kept = ops.logical_and(allowed, ops.logical_not(is_pad))
    rest = ops.logsumexp(ops.where(kept, IMPOSSIBLE, logits), axis=-1, keepdims=True)
    return ops.where(is_pad, rest, ops.where(kept, logits, IMPOSSIBLE))
