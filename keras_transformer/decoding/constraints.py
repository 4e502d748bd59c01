"""What a search may take at each step: a mask on the logits that follows each hypothesis."""

from collections.abc import Callable
from typing import Any

from keras import ops

from keras_transformer.decoding.hypotheses import IMPOSSIBLE, Step

Constraint = Callable[[Any, Any, Any], tuple[Any, Any]]


def constrained(step: Step, state: Any, constraint: Constraint, constraint_state: Any, pad_id: int = 0) -> tuple:
    """A step function, and the state to begin it with, that give probability to allowed tokens only.

    The search stays as it is: any of `keras_transformer.decoding` takes the two. What is ruled out is not
    renormalised: log-probabilities are those of the model, and what it gives to forbidden tokens goes to the padding,
    which no search takes. As long as something is allowed at each step, the best hypothesis breaks no rule.
    Axes: rows are B sentences times K beams, V vocabulary.

    Args:
        step, state: As for the search; see `decoding/hypotheses.py`.
        constraint: `constraint(token_ids [rows], state, index) -> (allowed [rows, V], state)`: given the tokens that
            were taken last (at index 0 the start), what may follow, as booleans.
        constraint_state: What `constraint` keeps of each hypothesis: a nest of tensors `[rows, ...]`, reordered with
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
