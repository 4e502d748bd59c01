"""The search of translators that predict all tokens at once: several lengths, decoded side by side."""

from collections.abc import Callable
from typing import Any

from keras import ops

from keras_transformer.decoding import Hypotheses, mask_predict
from keras_transformer.decoding.candidates import first_k
from keras_transformer.ops import masks
from keras_transformer.ops.sizes import numbers, product, size
from zoo.config import END_ID, PAD_ID
from zoo.corpora.masked_targets import MASK_ID
from zoo.limits import with_check
from zoo.models.non_autoregressive import NonAutoregressive


def parallel_search(
    model: NonAutoregressive,
    source: Any,
    limits: Any,
    each_step: Callable | None = None,
    *,
    num_lengths: int,
    num_return: int,
    iterations: int,
    extra: int,
) -> Hypotheses:
    """Decodes the most probable lengths, or the positions, of each sentence by mask-predict, in a graph or eagerly.

    Scores are means of the log-probabilities of the tokens, by which the hypotheses of several lengths are compared
    (Ghazvininejad et al. 2019, section 3.3). An end token that was not predicted is certain.

    Args:
        model: The model.
        source: Int `[B, S]`, padded with 0, each row ended by the end token.
        limits: Int `[B]`, maximum numbers of tokens of the translations, the end included.
        each_step: Called before each prediction.
        num_lengths: Number K of lengths; 1 if the output of the model has a fixed length or is aligned.
        num_return: Number N of hypotheses to return, at most K.
        iterations: Number of predictions of each token.
        extra: Number of tokens by which the limits are above the lengths of the sources.
    """
    config, memory, memory_mask = model.config, model.encode(source), masks.padding_mask(source, PAD_ID)
    batch, steps = ops.shape(source)[:2]
    if config.num_length_classes:
        lengths = _likely_lengths(model, memory, memory_mask, limits, num_lengths)
        # Compilers need a width that is known; elsewhere it is that of the longest row.
        width, end = steps + extra if isinstance(steps, int) else ops.max(lengths, initial=1), None
    elif model.aligned:
        lengths = _count(memory_mask) * config.positions_per_token
        width, end = steps * config.positions_per_token, None
    else:
        width, end = config.max_length, END_ID
        lengths = ops.zeros_like(limits) + width
    step = model.step_function(memory, memory_mask)
    ids, log_probs = mask_predict(
        step if each_step is None else with_check(each_step, step),
        lengths=lengths,
        iterations=iterations,
        mask_id=MASK_ID,
        pad_id=PAD_ID,
        end_id=end,
        never=() if model.aligned else (END_ID,),
        blank_id=END_ID if model.aligned else None,
        max_length=width,
    )
    if model.aligned:
        return _without_blanks(ids, log_probs, limits)
    real, total = ops.not_equal(ids, PAD_ID), ops.sum(log_probs, axis=1)
    if end is None:
        lengths = lengths + 1
        ids = ops.where(ops.equal(numbers(width + 1), lengths[:, None] - 1), END_ID, ops.pad(ids, [(0, 0), (0, 1)]))
    else:
        lengths = _count(real)
    scores = total / ops.cast(ops.maximum(_count(real), 1), "float32")
    by_sentence = [ops.reshape(values, (batch, num_lengths)) for values in (scores, total, lengths)]
    scores, order = first_k(by_sentence[0], num_return)
    ids = ops.reshape(ids, (batch, num_lengths, size(ids, 1)))
    total, lengths = (ops.take_along_axis(values, order, axis=1) for values in by_sentence[1:])
    return Hypotheses(ops.take_along_axis(ids, order[..., None], axis=1), scores, total, lengths)


def _without_blanks(ids, log_probs, limits):
    """Returns the translations of alignments `[B, F]`: repeated tokens are one, and blanks none.

    Scores are means of the log-probabilities of the positions.
    """
    width = size(ids, 1)
    places, positions = numbers(width), _count(ops.not_equal(ids, PAD_ID))
    repeated = ops.equal(ids, ops.pad(ids, [(0, 0), (1, 0)])[:, :-1])
    left_out = ops.logical_or(repeated, ops.logical_or(ops.equal(ids, PAD_ID), ops.equal(ids, END_ID)))
    order = ops.argsort(ops.where(left_out, places + width, places), axis=1)
    tokens = ops.pad(ops.take_along_axis(ids, order, axis=1), [(0, 0), (0, 1)])
    count = ops.minimum(_count(ops.logical_not(left_out)), limits - 1)[:, None]
    steps = numbers(width + 1)
    tokens = ops.where(steps < count, tokens, ops.where(ops.equal(steps, count), END_ID, PAD_ID))
    total = ops.sum(log_probs, axis=1, keepdims=True)
    scores = total / ops.cast(ops.maximum(positions, 1), "float32")[:, None]
    return Hypotheses(tokens[:, None], scores, total, count + 1)


def _count(booleans):
    return ops.sum(ops.cast(booleans, "int32"), axis=1)


def _likely_lengths(model, memory, memory_mask, limits, count):
    """Returns the `count` most probable numbers of tokens of each sentence `[B * count]`, without the end."""
    config = model.config
    logits = ops.cast(model.length_logits(memory, memory_mask), "float32")[:, 1:]
    _, changes = first_k(logits, count)
    source = _count(memory_mask)
    lengths = source[:, None] + ops.cast(changes, "int32") - config.max_length_change
    most = ops.minimum(limits[:, None], config.max_length) - 1
    return ops.reshape(ops.maximum(ops.minimum(lengths, most), 1), (product(size(lengths, 0), count),))
