"""Masking of tokens for masked language models, in tf.data."""

from collections.abc import Iterable, Iterator

import numpy as np
import tensorflow as tf

from zoo.corpora.labelled_corpus import NO_LABEL
from zoo.tf.pipeline import training_dataset

MASK_RATE = 0.15


class TokenMasker:
    """Masks tokens as BERT does (Devlin et al. 2019, section 3.1).

    15 % of the tokens of each row, at least one, are to be predicted. Of these 80 % are replaced by the mask token and
    10 % by a random token; 10 % are unchanged. Special tokens are neither predicted nor used as random tokens.

    Args:
        tokenizer: Tokenizer of the ids; see `zoo.text.vocabularies`.
        seed: Seed of the random choice.
    """

    def __init__(self, tokenizer, seed: int):
        special = [0, tokenizer.start_id, tokenizer.end_id, tokenizer.unknown_id, tokenizer.mask_id]
        ordinary = np.ones(tokenizer.vocabulary_size, bool)
        ordinary[special] = False
        self._ordinary, self._others = tf.constant(ordinary), tf.constant(np.flatnonzero(ordinary), tf.int32)
        self._mask_id, self._seed = tokenizer.mask_id, seed

    def __call__(self, token_ids: tf.Tensor, number: tf.Tensor) -> dict[str, tf.Tensor]:
        """Returns masked `token_ids` `[B, T]`, the `positions` `[B, M]` to predict, and their `labels` `[B, M]`.

        M is the maximum over the rows; labels of the other rows are padded with NO_LABEL. The same seed and `number` of
        the batch give the same masks.
        """
        allowed = tf.gather(self._ordinary, token_ids)
        total = tf.math.count_nonzero(allowed, axis=1, dtype=tf.float32)
        counts = tf.cast(tf.where(total > 0, tf.maximum(1.0, tf.round(MASK_RATE * total)), 0), tf.int32)
        draws = [tf.stack([self._seed, 3 * tf.cast(number, tf.int32) + i]) for i in range(3)]
        order = tf.random.stateless_uniform(tf.shape(token_ids), draws[0]) - tf.cast(~allowed, tf.float32)
        width = tf.maximum(1, tf.reduce_max(counts))
        positions = tf.math.top_k(order, width).indices
        chosen = tf.range(width) < counts[:, None]
        gold = tf.gather(token_ids, positions, batch_dims=1)
        kind = tf.random.stateless_uniform(tf.shape(gold), draws[1])
        other = tf.random.stateless_uniform(tf.shape(gold), draws[2], 0, tf.size(self._others), tf.int32)
        shown = tf.where(kind < 0.9, tf.gather(self._others, other), gold)
        shown = tf.where(chosen, tf.where(kind < 0.8, self._mask_id, shown), gold)
        rows = tf.broadcast_to(tf.range(tf.shape(gold)[0])[:, None], tf.shape(gold))
        hidden = tf.tensor_scatter_nd_update(token_ids, tf.stack([rows, positions], -1), shown)
        return {"token_ids": hidden, "positions": positions, "labels": tf.where(chosen, gold, NO_LABEL)}


class MaskedBatches:
    """Masked batches, prefetched by tf.data.

    Args:
        batches: A `zoo.corpora.batching.BatchStream` with `token_ids`.
        masker: Masks the tokens.
        start: Number of the first batch.
    """

    def __init__(self, batches: Iterable, masker: TokenMasker, start: int):
        self._batches, self._masker, self._start = batches, masker, start

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        numbered = tf.data.Dataset.zip(tf.data.Dataset.counter(self._start), training_dataset(self._batches))
        masked = numbered.map(lambda number, batch: self._masker(batch["token_ids"], number))
        return masked.prefetch(4).as_numpy_iterator()

    def position(self, consumed: int) -> tuple[int, int]:
        """See `BatchStream.position`."""
        return self._batches.position(consumed)
