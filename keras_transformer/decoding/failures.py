"""Detection of logits that no search can use: NaN, +inf, or nothing but -inf."""

from typing import Any

import numpy as np
from keras import ops

from keras_transformer.decoding.hypotheses import Hypotheses
from keras_transformer.ops.sizes import reshape, sizes
from keras_transformer.ops.values import assert_in_graph, known_values, value_checks_enabled

_EXPECTED = "`step` must return logits that are numbers, or -inf for some tokens of a row."
_RECEIVED = "Received: NaN, inf or nothing but -inf at step"
_FIX = "Look for NaN in the weights, for overflow in half precision, or for a mask that allows no token."


def unusable(normalizer: Any) -> Any:
    """Returns where logits are unusable: their `log sum_v exp z_v` is NaN, as infinity minus infinity is."""
    return ops.isnan(normalizer)


def add_failures(finished: Hypotheses, normalizer: Any, counted: Any, index: Any) -> Hypotheses:
    """Gives sentences with unusable logits scores of +inf, which later ones cannot displace, and `index + 1` as length.

    Args:
        finished: The N best hypotheses of B sentences.
        normalizer: `log sum_v exp z_v` of every row, `[B * K]`.
        counted: Boolean `[B, K]`, False at rows that hold no hypothesis.
        index: The step.
    """
    if not value_checks_enabled():
        return finished
    failed = ops.logical_and(unusable(reshape(normalizer, sizes(counted))), counted)
    failed = ops.any(failed, axis=-1, keepdims=True)
    scores = ops.where(failed, float("inf"), finished.scores)
    return finished._replace(scores=scores, lengths=ops.where(failed, index + 1, finished.lengths))


def mark_failures(finished: Hypotheses) -> Hypotheses:
    """Replaces the scores of `add_failures` by NaN."""
    if not value_checks_enabled():
        return finished
    failed = ops.isinf(finished.scores)
    scores, log_probs = (ops.where(failed, float("nan"), x) for x in (finished.scores, finished.log_probs))
    return finished._replace(scores=scores, log_probs=log_probs)


def check_failures(found: Hypotheses) -> Hypotheses:
    """Raises `ValueError` if a score is NaN; in a TensorFlow graph an assertion fails. Returns the hypotheses.

    The length of such a sentence is the number of steps until its logits were unusable.
    """
    if not value_checks_enabled():
        return found
    failed, steps = ops.isnan(found.scores[:, 0]), found.lengths[:, 0] - 1
    known, known_steps = known_values(failed), known_values(steps)
    if known is None or known_steps is None:
        rows = ops.arange(ops.shape(failed)[0], dtype="int32")
        row = ops.min(ops.where(failed, rows, np.iinfo("int32").max), initial=np.iinfo("int32").max)
        step = ops.sum(ops.where(ops.equal(rows, row), steps, 0))
        holds = ops.logical_not(ops.any(failed))
        ids = assert_in_graph(
            found.ids, holds, _EXPECTED, _RECEIVED, step, "of sentence", row, f"(both from 0). {_FIX}"
        )
        return found._replace(ids=ids)
    if known.any():
        row = known.argmax()
        raise ValueError(f"{_EXPECTED} {_RECEIVED} {known_steps[row]} of sentence {row} (both from 0). {_FIX}")
    return found
