"""Micro-batches: parts of a batch that fit into the memory of the devices, with weights of their rows."""

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
from keras import tree

from zoo.config import PAD_ID, TrainingConfig
from zoo.corpora.token_rows import append_rows
from zoo.distribution import heartbeats
from zoo.distribution.workers import Workers


def accumulation_steps(config: TrainingConfig, replicas: int = 1) -> int:
    """Returns the number of micro-batches of an update, each about `micro_batch_tokens` positions on a device."""
    return -(-config.batch_tokens // (replicas * config.micro_batch_tokens or config.batch_tokens))


def micro_batches(
    batches: Iterable[tuple[Mapping[str, np.ndarray], np.ndarray]],
    accumulation: int,
    replicas: int,
    count: Callable[[int], None],
    pad_label: int = PAD_ID,
) -> Iterator[tuple]:
    """Splits each batch `(inputs, labels)` into `accumulation` micro-batches `(inputs, labels, weights)`.

    Rows of padding make the number of rows of each a multiple of `replicas`. The weighted sum over all micro-batches of
    a batch, divided by `accumulation`, is the mean over the real labels of the batch; `count` is called with their
    number.
    """
    for inputs, labels in batches:
        rows = -len(labels) % (accumulation * replicas)
        classes = labels[..., 0] if labels.ndim > 2 else labels  # Objects are labels of several numbers.
        real = int(np.count_nonzero(classes != pad_label))
        count(real)
        weights = np.full((len(labels) + rows) // accumulation, accumulation / max(1, real), "float32")
        split = {name: np.split(append_rows(ids, rows, PAD_ID), accumulation) for name, ids in inputs.items()}
        for i, part in enumerate(np.split(append_rows(labels, rows, pad_label), accumulation)):
            yield {name: parts[i] for name, parts in split.items()}, part, weights


def twins(example: tuple) -> tuple:
    """Repeats each row of a micro-batch `(inputs, labels, weights)`, with half of its weight, for R-Drop."""
    inputs, labels, weights = tree.map_structure(lambda array: np.repeat(array, 2, axis=0), example)
    return inputs, labels, weights / 2


def local_shares(examples: Iterable[tuple], workers: Workers, by_device: bool) -> Iterator[tuple]:
    """Yields the rows of each example that this worker trains on: together, or with `by_device` device by device."""
    for example in heartbeats.watched(examples):
        slices = workers.local_rows(len(example[1]))
        for rows in slices if by_device else [slice(slices[0].start, slices[-1].stop)]:
            yield tree.map_structure(lambda array, rows=rows: array[rows], example)
