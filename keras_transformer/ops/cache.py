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
    """What one DecoderBlock keeps: its own growing past, and the memory projected once per sentence."""

    self_attention: KVCache
    cross_attention: KVCache


def write(cache: KVCache, key: Any, value: Any, index: Any) -> KVCache:
    """Writes the keys and values `[B * N, T, H]` of new steps at position `index` of the step axis."""
    start = (0, index, 0)
    return KVCache(
        ops.slice_update(cache.key, start, ops.cast(key, cache.key.dtype)),
        ops.slice_update(cache.value, start, ops.cast(value, cache.value.dtype)),
    )
