"""Beam search that keeps finished hypotheses apart and stops once no beam can change the result."""

import math
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_transformer.decoding import candidates, failures, hypotheses
from keras_transformer.decoding.hypotheses import IMPOSSIBLE, Hypotheses, Step
from keras_transformer.decoding.loop import search_loop
from keras_transformer.decoding.repetition import check_repeats, extend_runs, is_loop, no_runs
from keras_transformer.ops.gather import gather
from keras_transformer.ops.sizes import product, reshape, row_starts, size, sizes


class _Beams(NamedTuple):
    """The K open hypotheses of each sentence, best first; all are impossible once the sentence is done."""

    tokens: Any  # [B, K], the last token of each
    ids: Any  # [B, K, L]
    log_probs: Any  # [B, K]
    runs: Any = ()  # [B, K, n], see `extend_runs`; empty if loops are allowed


class _Search(NamedTuple):
    limits: Any  # [B]
    repeats: Any  # [B], or empty
    needed: Any  # [B], or empty
    beams: _Beams
    finished: Hypotheses


def length_penalty(lengths: Any, alpha: float) -> Any:
    """Computes the divisor of a log-probability, lp(n) = ((5 + n) / 6)^alpha (Wu et al. 2016, eq. 14).

    `lengths` counts the end token. With alpha = 0 it is 1; a larger alpha favours long hypotheses, a smaller one short
    hypotheses.
    """
    return ops.power((5.0 + ops.cast(lengths, "float32")) / 6.0, alpha)


def repeat_rows(nest: Any, count: int) -> Any:
    """Repeats each row of every tensor `[B, ...]`: `[B * count, ...]`, copy k in row b * count + k."""
    return keras.tree.map_structure(lambda tensor: ops.repeat(tensor, count, axis=0), nest)


def beam_search(
    step: Step,
    state: Any,
    *,
    beam_size: int,
    max_lengths: Any,
    start_id: int,
    end_id: int | None,
    pad_id: int = 0,
    length_penalty: float = 0.6,
    num_return: int = 1,
    max_length: Any = None,
    max_repeats: Any = None,
    num_needed: Any = None,
) -> Hypotheses:
    """Runs beam search: finds the best-scored hypotheses that continue the K most probable prefixes.

        score(y) = log p(y) / lp(|y|),  lp(n) = ((5 + n) / 6)^alpha       (Wu et al. 2016, eq. 14)

    At each step the K most probable extensions by tokens other than the end become the next beams, so that a
    finished hypothesis does not take the place of a beam. A beam that ends is admitted if it is at least as probable
    as the least of those K (as in fairseq; without this, the empty sentence wins over long ones: Stahlberg and Byrne
    2019). The best `num_return` of all admitted ones are kept. A sentence stops when no beam can still be admitted:
    log-probabilities only fall, hence a beam of m tokens cannot score above log p / max(lp(m + 1), lp(limit)), for
    any sign of alpha. The stop therefore never changes the result. At the last step of a sentence only the end is
    allowed, and its own log-probability counts. Start and pad are ruled out without renormalising the rest.

    A beam wider than the number of prefixes finds the optimum over all sequences within the limit.
    A beam of 1 with alpha = 0 is greedy search; with a larger alpha it continues past an end while a longer
    hypothesis could score higher.
    Axes: B sentences, K beams, N returned, L tokens, V vocabulary.

    Args:
        step: `step(token_ids [B * K], state, index) -> (logits [B * K, V], state)`; row b * K + k is beam k
            of sentence b. See `decoding/hypotheses.py`.
        state: Nest of tensors `[B * K, ...]`, possibly empty, the rows of a sentence alike (`repeat_rows`).
            The search reorders its rows with the beams, except for tensors in a `PerSentence`, `[B * n, ...]`: a step
            that tracks the ancestors of its beams (`keras_transformer.ops.ancestry`) need not reorder its caches.
        beam_size: K, at least 1; may exceed V.
        max_lengths: Integers `[B]`, the most tokens of each sentence, its end included.
        start_id: Token of the first step.
        end_id: Token that ends a hypothesis. May equal `start_id` or `pad_id`, which are then not ruled out. None
            for hypotheses of exactly `max_lengths` tokens.
        pad_id: Fills the ids after the end.
        length_penalty: alpha above. 0 compares log-probabilities; 0.6 is the value of Vaswani et al. (2017).
        num_return: N, at most K.
        max_length: Width L of the result, which limits `max_lengths` too: an integer, or in a TensorFlow
            graph a scalar tensor. None means the largest of `max_lengths`; XLA and `jax.jit` need an integer.
        max_repeats: Integers `[B]`, how often an n-gram of up to 8 tokens may follow itself: a beam with more repeats
            can only end, as at its maximum length. None for no limit.
        num_needed: Integers `[B]` from 1 to N, how many hypotheses of each sentence must be the best: the search for it
            stops once these cannot change, which is sooner for fewer, and the others are the best until then. None
            for N.

    Returns:
        `Hypotheses`, best first. They do not depend on the other sentences of the batch.

    Raises:
        ValueError: If an argument, the logits or the returned state do not fit; or, in an eager call, if logits are
            NaN, +inf or all -inf. A TensorFlow graph fails with `InvalidArgumentError` then. Under XLA and in compiled
            calls on JAX the scores of the sentence are NaN, and its lengths the number of steps until then.
            `keras_transformer.set_value_checks(False)` turns this check off.
    """
    hypotheses.check_tokens(start_id=start_id, end_id=end_id, pad_id=pad_id)
    check_repeats(max_repeats, end_id)
    _check(beam_size, num_return, length_penalty)
    limits, width = hypotheses.resolve_limits(max_lengths, max_length)
    batch = ops.shape(limits)[0]
    state = hypotheses.check_state(state, batch, beam_size)
    never = {pad_id, start_id} - {end_id}

    def advance(index, search, state):
        beams, limits = search.beams, search.limits
        logits, state = hypotheses.call_step(step, ops.reshape(beams.tokens, (-1,)), state, index, start_id, end_id)
        normalizer = candidates.log_normalizer(logits)
        best = candidates.best_tokens(logits, normalizer, beam_size, never | {end_id} - {None})
        last = (index + 1 >= limits)[:, None]
        if max_repeats is not None:
            stuck = is_loop(beams.runs, search.repeats)
            last = ops.logical_or(last, stuck)
            best = ops.where(ops.reshape(stuck, (-1, 1)), IMPOSSIBLE, best[0]), best[1]
        extended, rows = _extend(beams, *best, index)
        if end_id is None:
            ended, admitted = extended, last
        else:
            log_probs = ops.maximum(logits[:, end_id] - normalizer, hypotheses.LEAST_LOG_PROB)
            ended = beams._replace(
                ids=hypotheses.write_token(beams.ids, end_id, index),
                log_probs=beams.log_probs + reshape(log_probs, sizes(beams.log_probs)),
            )
            admitted = ops.logical_or(ended.log_probs >= extended.log_probs[:, -1:], last)
        finished = _finish(ended, admitted, search.finished, index + 1, length_penalty)
        finished = failures.add_failures(finished, normalizer, hypotheses.possible(beams.log_probs), index)
        if beam_size > 1:
            state = hypotheses.take_rows(state, rows)
        least = finished.scores[:, -1] if num_needed is None else candidates.pick(finished.scores, search.needed - 1)
        done = _done(extended, least, index + 1, limits, length_penalty)
        open_ = ops.logical_and(hypotheses.possible(extended.log_probs), ops.logical_not(done)[:, None])
        beams = extended._replace(log_probs=ops.where(open_, extended.log_probs, IMPOSSIBLE))
        return search._replace(beams=beams, finished=finished), state

    found = search_loop(
        advance,
        lambda search: ops.any(hypotheses.possible(search.beams.log_probs), axis=-1),
        lambda search: failures.mark_failures(search.finished),
        _Search(
            limits,
            () if max_repeats is None else ops.cast(max_repeats, "int32"),
            () if num_needed is None else ops.clip(ops.cast(num_needed, "int32"), 1, num_return),
            _first_beams(batch, beam_size, width, start_id, pad_id, max_repeats is not None),
            _empty(batch, num_return, width, pad_id),
        ),
        state,
        width,
    )
    return failures.check_failures(found)


def _first_beams(batch, beam_size, width, start_id, pad_id, with_runs):
    """Returns beams of which only the first is possible, since K equal ones would stay equal."""
    tokens = ops.full((batch, beam_size), start_id, dtype="int32")
    return _Beams(
        tokens=tokens,
        ids=ops.full((batch, beam_size, width), pad_id, dtype="int32"),
        log_probs=ops.zeros((batch, 1)) + ops.where(ops.arange(beam_size) == 0, 0.0, IMPOSSIBLE),
        runs=no_runs(tokens) if with_runs else (),
    )


def _empty(batch, num_return, width, pad_id):
    return Hypotheses(
        ids=ops.full((batch, num_return, width), pad_id, dtype="int32"),
        scores=ops.full((batch, num_return), IMPOSSIBLE, dtype="float32"),
        log_probs=ops.full((batch, num_return), IMPOSSIBLE, dtype="float32"),
        lengths=ops.zeros((batch, num_return), dtype="int32"),
    )


def _finish(ended, admitted, finished, length, alpha):
    """Returns the best N of the finished hypotheses and the admitted ended beams, which have `length` tokens.

    Impossible ones rank below the empty slots of `finished`, of which there are always enough.
    """
    log_probs = ops.where(admitted, ended.log_probs, IMPOSSIBLE)
    scores = log_probs / length_penalty(length, alpha)
    ended = Hypotheses(
        ids=ended.ids,
        scores=ops.where(hypotheses.possible(log_probs), scores, 2 * IMPOSSIBLE),
        log_probs=log_probs,
        lengths=ops.zeros_like(log_probs, dtype="int32") + length,
    )
    both = Hypotheses(*(ops.concatenate(pair, axis=1) for pair in zip(finished, ended)))
    batch, count = sizes(finished.scores)
    _, best = candidates.first_k(both.scores, count)
    rows = _rows(best, batch, both.scores.shape[1])
    return Hypotheses(*(_select(tensor, rows, (batch, *sizes(old)[1:])) for tensor, old in zip(both, finished)))


def _extend(beams, log_probs, token_ids, index):
    """Returns the K most probable extensions of the beams by candidates `[B * K, C]`, and the rows that they extend."""
    batch, beam_size = sizes(beams.log_probs)
    count = log_probs.shape[-1]
    log_probs = reshape(log_probs, (batch, beam_size, count)) + ops.expand_dims(beams.log_probs, 2)
    best_log_probs, best = candidates.first_k(reshape(log_probs, (batch, beam_size * count)), beam_size)
    best = ops.cast(best, "int32")  # Torch counts in int64.
    rows = _rows(best // count, batch, beam_size)
    tokens = reshape(gather(ops.reshape(token_ids, (-1,)), _rows(best, batch, beam_size * count)), (batch, beam_size))
    ids = _select(beams.ids, rows, sizes(beams.ids))
    ids = hypotheses.write_token(ids, tokens, index)
    runs = beams.runs
    if not isinstance(runs, tuple):
        runs = extend_runs(_select(runs, rows, sizes(runs)), ids, tokens, index)
    return _Beams(tokens, ids, best_log_probs, runs), rows


def _done(beams, least, length, limits, alpha):
    """Returns boolean `[B]`: beams of `length` tokens are at the limit or cannot score above `least` `[B]`."""
    # The penalty is monotone, so its largest value over the lengths to come is at one of their ends.
    largest = ops.maximum(length_penalty(length + 1, alpha), length_penalty(limits, alpha))
    reachable = beams.log_probs[:, 0] / largest
    return ops.logical_or(length >= limits, least >= reachable)


def _rows(positions, batch, size):
    """Converts positions `[B, K]` within sentences of `size` rows to row numbers `[B * K]`."""
    return ops.reshape(positions + ops.expand_dims(row_starts(batch, size), 1), (-1,))


def _select(tensor, rows, shape):
    """Selects rows of a tensor `[B, M, ...]`, counted over both axes, as a tensor of `shape`, `[B, K, ...]`."""
    flat = reshape(tensor, (product(size(tensor, 0), tensor.shape[1]), *shape[2:]))
    return reshape(gather(flat, rows), shape)


def _check(beam_size, num_return, alpha):
    hypotheses.check_count("beam_size", beam_size, 1, fix="Usual values are 4 to 8.")
    hypotheses.check_count("num_return", num_return, 1, beam_size, fix="Its most is `beam_size`: use a wider beam.")
    if not math.isfinite(alpha):
        raise ValueError(f"`length_penalty` must be finite. Received: length_penalty={alpha}. Use 0 for none.")
