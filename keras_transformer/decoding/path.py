"""One hypothesis per sentence, token by token: the loop that greedy search and sampling share."""

from collections.abc import Callable
from typing import Any

from keras import ops

from keras_transformer.decoding import candidates, hypotheses
from keras_transformer.decoding.hypotheses import Hypotheses, Step


def follow(
    step: Step,
    state: Any,
    choose: Callable[[Any, Any, Any], Any],
    limits: Any,
    width: Any,
    *,
    start_id: int,
    end_id: int | None,
    pad_id: int,
) -> Hypotheses:
    """Appends `choose(logits [B, V], log_normalizer [B], index) -> int32 [B]` until every sentence has its end.

    At the last step of a sentence the end is written whatever is chosen, if there is an end. Arguments have been
    checked.
    """
    batch = ops.shape(limits)[0]
    state = hypotheses.check_state(state, batch)

    def body(index, tokens, ids, log_probs, lengths, state):
        logits, state = hypotheses.call_step(step, tokens, state, index, end_id)
        normalizer = candidates.log_normalizer(logits)
        tokens = ops.cast(choose(logits, normalizer, index), "int32")
        last = index + 1 >= limits
        if end_id is not None:
            tokens = ops.where(last, end_id, tokens)
            last = ops.logical_or(last, ops.equal(tokens, end_id))
        chosen = candidates.log_probs_of(logits, normalizer, tokens)
        open_ = ops.equal(lengths, 0)
        ids = ops.where(open_[:, None], hypotheses.write_token(ids, tokens, index), ids)
        log_probs = ops.where(open_, log_probs + chosen, log_probs)
        lengths = ops.where(ops.logical_and(open_, last), index + 1, lengths)
        return index + 1, tokens, ids, log_probs, lengths, state

    start = (
        ops.convert_to_tensor(0, "int32"),
        ops.full((batch,), start_id, dtype="int32"),
        ops.full((batch, width), pad_id, dtype="int32"),
        ops.zeros((batch,), dtype="float32"),
        ops.zeros((batch,), dtype="int32"),
        state,
    )
    _, _, ids, log_probs, lengths, _ = ops.while_loop(
        lambda index, tokens, ids, log_probs, lengths, state: ops.any(ops.equal(lengths, 0)), body, start
    )
    return Hypotheses(ids[:, None], log_probs[:, None], log_probs[:, None], lengths[:, None])
