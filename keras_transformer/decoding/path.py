"""One hypothesis per sentence, token by token: the loop that greedy search and sampling share."""

from collections.abc import Callable
from typing import Any

from keras import ops

from keras_transformer.decoding import hypotheses
from keras_transformer.decoding.hypotheses import Hypotheses, Step


def follow(
    step: Step,
    state: Any,
    choose: Callable[[Any, Any], Any],
    limits: Any,
    width: Any,
    *,
    start_id: int,
    end_id: int,
    pad_id: int,
) -> Hypotheses:
    """Appends `choose(log_probs [B, V], index) -> int32 [B]` until every sentence has its end.

    At the last step of a sentence the end is written whatever is chosen. Arguments have been checked.
    """
    batch = ops.shape(limits)[0]
    state = hypotheses.check_state(state, batch)
    never = {pad_id, start_id} - {end_id}

    def body(index, tokens, ids, log_probs, lengths, state):
        logits, state = hypotheses.call_step(step, tokens, state, index)
        step_log_probs = hypotheses.token_log_probs(logits, end_id)
        tokens = choose(hypotheses.rule_out(step_log_probs, *never), index)
        tokens = ops.where(index + 1 >= limits, end_id, ops.cast(tokens, "int32"))
        chosen = ops.take_along_axis(step_log_probs, tokens[:, None], axis=1)[:, 0]
        open_ = ops.equal(lengths, 0)
        ids = ops.where(open_[:, None], hypotheses.write_token(ids, tokens, index), ids)
        log_probs = ops.where(open_, log_probs + chosen, log_probs)
        lengths = ops.where(ops.logical_and(open_, ops.equal(tokens, end_id)), index + 1, lengths)
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
