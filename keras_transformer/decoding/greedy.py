"""Greedy search: the most probable token at every step."""

from typing import Any

from keras import ops

from keras_transformer.decoding import candidates, hypotheses, path
from keras_transformer.decoding.hypotheses import Hypotheses, Step


def greedy_search(
    step: Step,
    state: Any,
    *,
    max_lengths: Any,
    start_id: int,
    end_id: int | None,
    pad_id: int = 0,
    max_length: Any = None,
    max_repeats: Any = None,
) -> Hypotheses:
    """Runs greedy search: selects the most probable token at every step, until it is the end.

        y_t = argmax_v log p(v | y_<t),  v not in {start, pad}

    At the last step of a sentence only the end is allowed, and its own log-probability counts. The
    rest is not renormalised: log-probabilities are those of the model.
    Axes: B sentences, L tokens, V vocabulary.

    Args:
        step: `step(token_ids [B], state, index) -> (logits [B, V], state)`; see `decoding/hypotheses.py`.
        state: Nest of tensors `[B, ...]`, possibly empty.
        max_lengths: Integers `[B]`, the most tokens of each sentence, its end included.
        start_id: Token of the first step.
        end_id: Token that ends a hypothesis. May equal `start_id` or `pad_id`, which are then not ruled out. None
            for hypotheses of exactly `max_lengths` tokens.
        pad_id: Fills the ids after the end.
        max_length: Width L of the result, which limits `max_lengths` too: an integer, or in a TensorFlow
            graph a scalar tensor. None means the largest of `max_lengths`; XLA and `jax.jit` need an integer.
        max_repeats: Integers `[B]`, how often an n-gram of up to 8 tokens may follow itself: a hypothesis with more
            repeats ends, as at its maximum length. None for no limit.

    Returns:
        `Hypotheses` with N = 1; scores are log-probabilities. They do not depend on the other sentences.

    Raises:
        ValueError: If an argument, the logits or the returned state do not fit; for logits that are NaN, +inf or all
            -inf see `beam_search`.
    """
    hypotheses.check_tokens(start_id=start_id, end_id=end_id, pad_id=pad_id)
    limits, width = hypotheses.resolve_limits(max_lengths, max_length)

    never = {pad_id, start_id} - {end_id}

    def choose(logits, normalizer, index, sentences):
        log_probs, token_ids = candidates.best_tokens(logits, normalizer, 1, never)
        return candidates.pick(token_ids, ops.cast(ops.argmax(log_probs, axis=-1), "int32"))

    special = {"start_id": start_id, "end_id": end_id, "pad_id": pad_id}
    return path.follow(step, state, choose, limits, width, max_repeats=max_repeats, **special)
