"""Sampling from a model: temperature, top-k and top-p."""

import math
from collections.abc import Collection
from typing import Any

import keras
from keras import ops

from keras_transformer.decoding import candidates, hypotheses, path
from keras_transformer.decoding.hypotheses import Hypotheses, Step


def sample(
    step: Step,
    state: Any,
    *,
    max_lengths: Any,
    start_id: int,
    end_id: int | None,
    pad_id: int = 0,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    seed: Any = None,
    uniforms: Any = None,
    max_length: Any = None,
    max_repeats: Any = None,
    never: Collection[int] = (),
) -> Hypotheses:
    """Samples every token from the model's distribution, with temperature, top-k and top-p.

        y_t ~ q(v) / sum q,  q(v) = p(v | y_<t)^(1 / temperature) if v is kept, else 0

    Kept are all tokens but start and pad; of those the `top_k` most probable (Fan et al. 2018); of those the
    smallest set of the most probable whose share of q reaches `top_p` (the nucleus; Holtzman et al. 2020,
    eq. 2-3).
    At the last step of a sentence only the end is allowed.

    All random numbers are drawn before the loop, `[L, B]`, and turned into tokens by inverting the cumulative
    distribution: a seed gives the same result on every call with the same B and L (TensorFlow draws other
    numbers under XLA). For several samples of a sentence, repeat its rows (`repeat_rows`).
    Axes: B sentences, L tokens, V vocabulary.

    Args:
        step: `step(token_ids [B], state, index) -> (logits [B, V], state)`; see `decoding/hypotheses.py`.
        state: Nest of tensors `[B, ...]`, possibly empty.
        max_lengths: Integers `[B]`, the most tokens of each sentence, its end included.
        start_id: Token of the first step.
        end_id: As in `greedy_search`.
        pad_id: Fills the ids after the end.
        temperature: Above 0; 1 keeps the model's distribution, less makes it sharper.
        top_k: Number of tokens kept at each step; 0 keeps all.
        top_p: Share of the probability kept, in (0, 1]; 1 keeps all.
        seed: Integer, or a `keras.random.SeedGenerator` for other samples at each call.
        uniforms: Instead of `seed`, the random numbers themselves: floats `[L, B]` in [0, 1). A function compiled
            once, with these as an argument, serves every seed.
        max_length, max_repeats: As in `greedy_search`.
        never: Further tokens that are never chosen.

    Returns:
        `Hypotheses` with N = 1. Scores are the model's own log-probabilities, before temperature, top-k and top-p.

    Raises:
        ValueError: If an argument, the logits or the returned state do not fit; for logits that are NaN, +inf or all
            -inf see `beam_search`.
    """
    hypotheses.check_tokens(start_id=start_id, end_id=end_id, pad_id=pad_id)
    _check(temperature, top_k, top_p, seed, uniforms)
    limits, width = hypotheses.resolve_limits(max_lengths, max_length)
    if uniforms is None:
        uniforms = keras.random.uniform((width, ops.shape(limits)[0]), dtype="float32", seed=seed)

    never = {pad_id, start_id, *never} - {end_id}

    def choose(logits, normalizer, index, sentences):
        uniform = ops.take(ops.take(uniforms, index, axis=0), sentences)
        return _draw(candidates.rule_out(logits, never), uniform, temperature, top_k, top_p)

    special = {"start_id": start_id, "end_id": end_id, "pad_id": pad_id}
    return path.follow(step, state, choose, limits, width, max_repeats=max_repeats, **special)


def sample_steps(
    step: Step,
    state: Any,
    token_ids: Any,
    index: Any,
    uniforms: Any,
    *,
    never: Collection[int] = (),
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
) -> tuple[Any, Any]:
    """Samples the next k tokens of every row, whatever they are, and returns the state to go on from.

    For callers that show a text while it grows, or end it by a rule of their own; see `sample` for whole sequences.
    The steps are as in `sample`: if it gives a row with the same random numbers more than k tokens, these are the
    first.
    Axes: B rows, V vocabulary.

    Args:
        step: `step(token_ids [B], state, index) -> (logits [B, V], state)`; see `decoding/hypotheses.py`. Its state
            has room for k steps.
        state: Nest of tensors.
        token_ids: Integers `[B]`, the last token of each row.
        index: Integer scalar, the steps that are written in the state.
        uniforms: Floats `[k, B]` in [0, 1), the random numbers.
        never: Tokens that are never chosen.
        temperature: As in `sample`, or 0 for the most probable tokens.
        top_k, top_p: As in `sample`.

    Returns:
        Int32 `[B, k]`, and the state after the last step.

    Raises:
        ValueError: If an argument does not fit.
    """
    _check(temperature or 1.0, top_k, top_p, None, uniforms)
    count = ops.shape(uniforms)[0]
    token_ids, index = ops.cast(token_ids, "int32"), ops.cast(index, "int32")

    def body(i, token_ids, state, found):
        logits, state = hypotheses.call_step(step, token_ids, state, index + i, 0, None)
        logits = candidates.rule_out(logits, {*never})
        if temperature:
            token_ids = _draw(logits, ops.take(uniforms, i, axis=0), temperature, top_k, top_p)
        else:
            token_ids = ops.argmax(logits, axis=-1)
        token_ids = ops.cast(token_ids, "int32")
        return i + 1, token_ids, state, hypotheses.write_token(found, token_ids, i)

    found = ops.zeros((ops.shape(token_ids)[0], count), "int32")
    start = ops.convert_to_tensor(0, "int32"), token_ids, state, found
    _, _, state, found = ops.while_loop(lambda i, *_: i < count, body, start)
    return found, state


def _draw(logits, uniform, temperature, top_k, top_p):
    """Returns tokens int32 `[B]` drawn from logits `[B, V]` with numbers `[B]` in [0, 1)."""
    vocabulary_size = logits.shape[-1]
    if 0 < top_k < vocabulary_size or top_p < 1:
        logits, token_ids = ops.top_k(logits, min(top_k or vocabulary_size, vocabulary_size))
    else:
        token_ids = None  # Sorting the vocabulary is slow, and only top-k and top-p need it.
    weights = ops.exp((logits - ops.max(logits, axis=-1, keepdims=True)) / temperature)
    cumulative = ops.cumsum(weights, axis=-1)
    if top_p < 1:  # The first is always kept.
        weights = ops.where(cumulative - weights < top_p * cumulative[:, -1:], weights, 0.0)
    # Sums in another order may differ in the last bit, so the tokens of no weight are left out explicitly.
    cumulative = ops.where(weights > 0, cumulative, 0.0)
    target = uniform[:, None] * ops.max(cumulative, axis=-1, keepdims=True)
    position = ops.argmax(ops.cast(cumulative > target, "int32"), axis=-1)
    if token_ids is None:
        return position
    return ops.take_along_axis(token_ids, ops.cast(position, "int32")[:, None], axis=-1)[:, 0]


def _check(temperature, top_k, top_p, seed, uniforms):
    if not (temperature > 0 and math.isfinite(temperature)):
        raise ValueError(
            f"`temperature` must be a finite number above 0. Received: temperature={temperature}. "
            "For the limit 0, the most probable token, call `greedy_search`."
        )
    hypotheses.check_count("top_k", top_k, 0, fix="Use 0 to keep all tokens.")
    if not 0 < top_p <= 1:
        raise ValueError(f"`top_p` must lie in (0, 1]. Received: top_p={top_p}. Use 1 to keep all.")
    if (seed is None) == (uniforms is None):
        raise ValueError(
            "Either `seed`, an integer or a `keras.random.SeedGenerator`, or `uniforms` must be given. "
            f"Received: seed={seed}, uniforms {'missing' if uniforms is None else 'too'}. "
            "Pass `seed=keras.random.SeedGenerator()` for other samples at each call."
        )
