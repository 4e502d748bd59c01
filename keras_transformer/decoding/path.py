"""Search with one hypothesis per sentence, which greedy search and sampling share."""

from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops

from keras_transformer.decoding import candidates, failures, hypotheses
from keras_transformer.decoding.hypotheses import Hypotheses, Step
from keras_transformer.decoding.loop import search_loop
from keras_transformer.decoding.repetition import check_repeats, extend_runs, is_loop, no_runs
from keras_transformer.ops.values import value_checks_enabled


class _Path(NamedTuple):
    sentences: Any  # [B], the index of each in the batch
    limits: Any  # [B]
    tokens: Any  # [B], the last token of each
    ids: Any  # [B, L]
    log_probs: Any  # [B]
    lengths: Any  # [B], 0 until the end
    repeats: Any  # [B], or empty if loops are allowed
    runs: Any  # [B, n], see `extend_runs`; or empty


def follow(
    step: Step,
    state: Any,
    choose: Callable[[Any, Any, Any, Any], Any],
    limits: Any,
    width: Any,
    *,
    start_id: int,
    end_id: int | None,
    pad_id: int,
    max_repeats: Any = None,
) -> Hypotheses:
    """Appends `choose(logits [B, V], log_normalizer [B], index, sentences [B])` until every sentence ends.

    `sentences` are the indices of those that have not ended. At the last step of a sentence the end is written,
    whatever `choose` returns, if there is an end token; and after more than `max_repeats` of an n-gram. Callers have
    checked the arguments.
    """
    check_repeats(max_repeats, end_id)
    batch = ops.shape(limits)[0]
    state = hypotheses.check_state(state, batch)

    def advance(index, path, state):
        logits, state = hypotheses.call_step(step, path.tokens, state, index, start_id, end_id)
        normalizer = candidates.log_normalizer(logits)
        tokens = ops.cast(choose(logits, normalizer, index, path.sentences), "int32")
        last = index + 1 >= path.limits
        if max_repeats is not None:
            last = ops.logical_or(last, is_loop(path.runs, path.repeats))
        if end_id is not None:
            tokens = ops.where(last, end_id, tokens)
            last = ops.logical_or(last, ops.equal(tokens, end_id))
        chosen = candidates.log_probs_of(logits, normalizer, tokens)
        open_ = is_open(path)
        if value_checks_enabled():  # The log-probability is then NaN, and stays so.
            last = ops.logical_or(last, failures.unusable(normalizer))
        ids = ops.where(open_[:, None], hypotheses.write_token(path.ids, tokens, index), path.ids)
        log_probs = ops.where(open_, path.log_probs + chosen, path.log_probs)
        lengths = ops.where(ops.logical_and(open_, last), index + 1, path.lengths)
        runs = path.runs if max_repeats is None else extend_runs(path.runs, path.ids, tokens, index)
        return path._replace(tokens=tokens, ids=ids, log_probs=log_probs, lengths=lengths, runs=runs), state

    def is_open(path):
        return ops.equal(path.lengths, 0)

    def result(path):
        scores = path.log_probs[:, None]
        return Hypotheses(path.ids[:, None], scores, scores, path.lengths[:, None])

    tokens = ops.full((batch,), start_id, dtype="int32")
    start = _Path(
        sentences=ops.arange(batch, dtype="int32"),
        limits=limits,
        tokens=tokens,
        ids=ops.full((batch, width), pad_id, dtype="int32"),
        log_probs=ops.zeros((batch,), dtype="float32"),
        lengths=ops.zeros((batch,), dtype="int32"),
        repeats=() if max_repeats is None else ops.cast(max_repeats, "int32"),
        runs=() if max_repeats is None else no_runs(tokens),
    )
    return failures.check_failures(search_loop(advance, is_open, result, start, state, width))
