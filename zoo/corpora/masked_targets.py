"""Masking of targets for models that predict all tokens at once. NumPy only."""

from collections.abc import Iterable, Iterator

import numpy as np

from zoo.config import END_ID, PAD_ID, START_ID, NonAutoregressiveConfig
from zoo.corpora.batching import Batch

MASK_ID = START_ID  # Decoders that predict all tokens at once have no other use for it.


def mask_targets(batch: Batch, config: NonAutoregressiveConfig, seed: int, number: int) -> Batch:
    """Masks some tokens of each target: n of N, n uniform from 1 to N (Ghazvininejad et al. 2019, section 3.1).

    With outputs of a fixed length, a target is filled with end tokens, and those behind the first are always masked. As
    many of them as of the other masked tokens are to be predicted, or the model would learn little else. With aligned
    outputs nothing is masked here: the model chooses what it sees.

    Args:
        batch: Int `source` `[B, S]` and `target` `[B, T + 1]`, from the start to the end token, padded with 0.
        config: What the model predicts.
        seed, number: The same seed and number of the batch give the same masks.

    Returns:
        `source`; `target` `[B, L]` with masked tokens; and `labels`: the tokens at masked places and 0 elsewhere
        `[B, L]`, with the class of the length before them if that is predicted, `[B, L + 1]`. With aligned outputs
        `target` and `labels` are the tokens, the end included.
    """
    if config.lengths == "aligned":
        tokens = batch["target"][:, 1:].astype("int32")
        return {"source": batch["source"], "target": tokens, "labels": tokens}
    rng = np.random.default_rng([seed, number])
    source, tokens = batch["source"], batch["target"][:, 1:]
    fixed = config.lengths == "fixed"
    counts = np.count_nonzero(tokens, axis=1)[:, None]  # The end token included.
    width = config.max_length if fixed else max(1, tokens.shape[1] - 1)
    tokens = np.pad(tokens, ((0, 0), (0, max(0, width - tokens.shape[1]))))[:, :width]
    steps, real_rows = np.arange(width), counts > 0
    if fixed:
        tokens = np.where(real_rows & (steps >= counts - 1), END_ID, tokens)
    else:
        counts = np.maximum(counts - 1, 0)
        tokens = np.where(steps < counts, tokens, PAD_ID)
    chances = np.where(steps < counts, rng.random(tokens.shape), 2.0)
    rank = chances.argsort(axis=1).argsort(axis=1)
    masked = rank < rng.integers(1, np.maximum(counts, 1) + 1)
    masked = (masked & (steps < counts)) | (fixed & real_rows & (steps >= counts))
    labels = np.where(masked, tokens, PAD_ID)
    if fixed:
        share = np.sum(masked & (steps < counts), axis=1, keepdims=True) / np.maximum(width - counts, 1)
        labels = np.where((steps >= counts) & (rng.random(tokens.shape) >= share), PAD_ID, labels)
    else:
        change = counts - np.count_nonzero(source, axis=1)[:, None]
        labels = np.concatenate([np.where(real_rows, length_classes(change, config), PAD_ID), labels], axis=1)
    target = np.where(masked, MASK_ID, tokens)
    return {"source": source, "target": target.astype("int32"), "labels": labels.astype("int32")}


def length_classes(change, config: NonAutoregressiveConfig):
    """Returns the classes of differences in length, from 1; the largest ones are one class."""
    most = config.max_length_change
    return np.clip(change, -most, most) + most + 1


class MaskedTargets:
    """Batches with masked targets, another mask for each batch.

    Args:
        batches: A `zoo.corpora.batching.BatchStream` of pairs.
        config, seed: As for `mask_targets`.
        start: Number of the first batch.
    """

    def __init__(self, batches: Iterable, config: NonAutoregressiveConfig, seed: int, start: int = 0):
        self._batches, self._config, self._seed, self._start = batches, config, seed, start

    def __iter__(self) -> Iterator[Batch]:
        for number, batch in enumerate(self._batches, self._start):
            yield mask_targets(batch, self._config, self._seed, number)

    def position(self, consumed: int) -> tuple[int, int]:
        """See `BatchStream.position`."""
        return self._batches.position(consumed)
