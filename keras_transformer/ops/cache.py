"""Key-value caches for step-by-step decoding: tuples of tensors that any loop can carry."""

from typing import Any, NamedTuple

from keras import ops

from keras_transformer.ops.sizes import keep_sizes, product, quotient, reshape, size, sizes
from keras_transformer.ops.updates import write_steps


class KVCache(NamedTuple):
    """Projected keys and values of one attention layer, `[B * N, S, H]`, zeros beyond the written steps.

    Row b * N + n is head n of sentence b: compilers multiply batches of matrices with one batch axis, and XLA copies a
    whole cache of any other shape at every step.
    """

    key: Any
    value: Any


class BlockCache(NamedTuple):
    """Caches of one DecoderBlock: its past steps, if it computes them one by one, and the projected memory."""

    self_attention: KVCache | None
    cross_attention: KVCache


def write(cache: KVCache, key: Any, value: Any, index: Any) -> KVCache:
    """Writes the keys and values `[B * N, T, H]` of new steps at position `index` of the step axis."""
    return KVCache(*(keep_sizes(write_steps(old, new, index), old) for old, new in zip(cache, (key, value))))


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


def count_beams(query: Any, cache: KVCache, num_heads: int, attention_mask: Any, writes: bool) -> Any:
    """Returns K, how many times the rows of a cache those of a query `[B * K, T, D]` are: an integer if it is known."""
    if attention_mask is None and writes:
        return 1  # See `check_writing`.
    steps, folded = query.shape[1], None if attention_mask is None else attention_mask.shape[-2]
    if isinstance(steps, int) and isinstance(folded, int) and folded > steps > 0:  # A size of 1 may broadcast.
        return folded // steps
    rows, sentences = size(query, 0), quotient(size(cache.key, 0), num_heads)
    if isinstance(sentences, int) and not sentences:
        return 1
    return quotient(rows, sentences)


def fold_beams(x: Any, beams: Any) -> Any:
    """Reshapes beams `[B * K, T, D]` to `[B, K * T, D]`: the K beams of a sentence become steps of one row."""
    if x is None or (isinstance(beams, int) and beams == 1):
        return x
    rows, steps, width = sizes(x)
    return reshape(x, (quotient(rows, beams), product(steps, beams), width))


def unfold_beams(weights: Any, rows: Any, steps: Any) -> Any:
    """Reshapes attention weights `[B, N, K * T, S]` of folded beams to `[B * K, N, T, S]`."""
    batch, heads, all_steps, key_steps = ops.shape(weights)
    weights = ops.reshape(weights, (batch, heads, all_steps // steps, steps, key_steps))
    return ops.reshape(ops.transpose(weights, (0, 2, 1, 3, 4)), (rows, heads, steps, key_steps))
