"""The search of a translator, and its choice among the hypotheses."""

from collections.abc import Callable
from typing import Any

import numpy as np
from keras import ops

from keras_transformer.decoding import Hypotheses, beam_search, count_repeats, greedy_search, sample
from keras_transformer.ops.gather import gather
from keras_transformer.ops.sizes import size
from zoo.config import END_ID, PAD_ID, START_ID
from zoo.limits import with_check

_SPECIAL = {"start_id": START_ID, "end_id": END_ID, "pad_id": PAD_ID}
_SEARCHES = {"greedy": greedy_search, "beam": beam_search, "sample": sample}


def searched(settings: dict) -> dict:
    """Returns the settings of the search for several distinct translations: it returns its whole beam."""
    return settings if settings["num_return"] == 1 else {**settings, "num_return": settings["beam_size"]}


def run_search(
    translator: Any,
    source: Any,
    limits: Any,
    uniforms: Any = None,
    each_step: Callable | None = None,
    watch: Callable | None = None,
    *,
    name: str,
    extra: int,
    max_repeats: int,
    **options: Any,
) -> Hypotheses:
    """Runs the search with the options of `zoo.translation.search_options`, in a graph or eagerly.

    Args:
        translator: A `zoo.translation.predictor.Translator`.
        source: Int `[B, S]`, padded with 0, each row ended by the end token.
        limits: Int `[B]`, maximum lengths of the translations.
        uniforms: Random numbers of `sample`.
        each_step: Called before each step.
        watch: Given the step function and the first state, returns those to search with, such as a `BeamRecorder` has.
        name, extra, max_repeats, options: The options.
    """
    num_beams, width = options.get("beam_size", 1), ops.shape(source)[1] + extra
    step, state = translator.model.step_function(num_beams), translator.model.init_state(source, num_beams)
    step = step if each_step is None else with_check(each_step, step)
    if watch is not None:
        step, state = watch(step, state)
    if max_repeats:
        options["max_repeats"] = ops.maximum(2 * count_repeats(source, PAD_ID), max_repeats)
    if uniforms is not None:
        options["uniforms"] = uniforms
    num_return = options.get("num_return", 1)
    chooses = translator.placeholders and num_beams > 1
    if chooses:  # Sentences with nothing to lose need no more than their best.
        options["num_return"] = num_beams
        kept = ops.any(gather(ops.convert_to_tensor(translator.tokenizer.kept_kinds), source) > 0, axis=-1)
        options["num_needed"] = ops.where(kept, num_beams, num_return)
    found = _SEARCHES[name](step, state, **_SPECIAL, **options, max_lengths=limits, max_length=width)
    return most_kept(found, source, translator.tokenizer.kept_kinds, num_return) if chooses else found


def most_kept(found: Hypotheses, source: Any, kinds: np.ndarray, num_return: int) -> Hypotheses:
    """Returns the hypotheses that lose the fewest digits and unknown characters of the source, best first.

    A token of the source is lost if it occurs more often there than in the hypothesis. Hypotheses that lose the same
    number stay in their order.

    Args:
        found: Hypotheses `[B, K]`.
        source: Int `[B, S]`, padded with 0.
        kinds: Int `[V]`: the kind of each piece that counts, from 1; 0 for the others; see `Tokenizer.kept_kinds`.
        num_return: Number N of hypotheses to return.
    """
    counts, table = int(kinds.max(initial=0)), ops.convert_to_tensor(kinds)

    def count(ids):
        return ops.sum(ops.one_hot(gather(table, ids) - 1, counts, dtype="int32"), axis=-2)  # No kind is all zeros.

    lost = ops.sum(ops.maximum(count(source)[:, None] - count(found.ids), 0), axis=-1)
    num_beams = size(found.lengths, 1)
    # Empty slots lose everything and are the last already.
    order = ops.argsort(lost * num_beams + ops.arange(num_beams, dtype="int32"), axis=-1)[:, :num_return]
    return Hypotheses(
        ops.take_along_axis(found.ids, order[..., None], axis=1),
        *(ops.take_along_axis(values, order, axis=1) for values in found[1:]),
    )
