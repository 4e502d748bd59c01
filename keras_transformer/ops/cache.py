"""Key-value caches for step-by-step decoding: tuples of tensors that any loop can carry."""

from typing import Any, NamedTuple

from keras import ops


class KVCache(NamedTuple):
    """Projected keys and values of one attention layer, `[B * N, S, H]`, zeros beyond the written steps.

    Row b * N + n is head n of sentence b: compilers multiply batches of matrices with one batch axis, and XLA copies a
    whole cache of any other shape at every step.
    """

    key: Any
    value: Any


class BlockCache(NamedTuple):
    """Caches of one DecoderBlock: its past steps, and the memory projected once per sentence."""

    self_attention: KVCache
    cross_attention: KVCache


def write(cache: KVCache, key: Any, value: Any, index: Any) -> KVCache:
    """Writes the keys and values `[B * N, T, H]` of new steps at position `index` of the step axis."""
    start = (0, index, 0)
    return KVCache(
        ops.slice_update(cache.key, start, ops.cast(key, cache.key.dtype)),
        ops.slice_update(cache.value, start, ops.cast(value, cache.value.dtype)),
    )


def check_writing(cache: KVCache, index: Any, query: Any, num_heads: int, attention_mask: Any) -> None:
    """Raises `ValueError` if steps of `query` cannot be written to `cache`: no index, or beams without a mask."""
    if index is None:
        raise ValueError(
            "`cache_index` is required to write a `cache`. Received: cache_index=None. "
            "Pass the number of steps already written, or leave out `value` to read the cache."
        )
    cached = None if cache.key.shape[0] is None else cache.key.shape[0] // num_heads
    if attention_mask is None and {query.shape[0], cached} - {None, query.shape[0]}:
        raise ValueError(
            "Beams that write a `cache` of their sentence need an `attention_mask` that separates them. "
            f"Received: attention_mask=None, query.shape={tuple(query.shape)}, a cache of "
            f"{cached} rows. See `keras_transformer.ops.ancestry.visible_slots`."
        )


def fold_beams(x: Any, cache: KVCache, num_heads: int, attention_mask: Any = None) -> Any:
    """Reshapes beams `[B * K, T, D]` to `[B, K * T, D]`: the K beams of a sentence become steps of one row."""
    if x is None:
        return None
    sentences, steps = ops.shape(cache.key)[0] // num_heads, -1
    if isinstance(sentences, int) and not sentences:  # Without rows, only the mask tells K.
        steps = max(x.shape[1] or 1, 1 if attention_mask is None else attention_mask.shape[-2] or 1)
    return ops.reshape(x, (sentences, steps, x.shape[-1]))


def unfold_beams(weights: Any, rows: Any, steps: Any) -> Any:
    """Reshapes attention weights `[B, N, K * T, S]` of folded beams to `[B * K, N, T, S]`."""
    batch, heads, all_steps, key_steps = ops.shape(weights)
    weights = ops.reshape(weights, (batch, heads, all_steps // steps, steps, key_steps))
    return ops.reshape(ops.transpose(weights, (0, 2, 1, 3, 4)), (rows, heads, steps, key_steps))
