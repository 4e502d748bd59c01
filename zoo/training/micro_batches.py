"""Batches cut into what the devices hold at once, each part with its weight."""

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
from keras import tree

from zoo.config import PAD_ID, TrainingConfig
from zoo.distribution.workers import Workers


def accumulation_steps(config: TrainingConfig, replicas: int = 1) -> int:
    """Micro-batches to an update, so that a device has about `micro_batch_tokens` positions at once."""
    return -(-config.batch_tokens // (replicas * config.micro_batch_tokens or config.batch_tokens))


def micro_batches(
    batches: Iterable[tuple[Mapping[str, np.ndarray], np.ndarray]],
    accumulation: int,
    replicas: int,
    count: Callable[[int], None],
    pad_label: int = PAD_ID,
) -> Iterator[tuple]:
    """Cuts each batch `(inputs, labels)` into `accumulation` examples with weights, each even over `replicas`.

    Rows of padding fill up. The weighted sum over the examples of a batch, divided by `accumulation` as a mean over
    micro-batches is, is the mean over the real labels of the batch, whose number is reported to `count`.
    """
    for inputs, labels in batches:
        rows = -len(labels) % (accumulation * replicas)
        real = int(np.count_nonzero(labels != pad_label))
        count(real)
        weights = np.full((len(labels) + rows) // accumulation, accumulation / max(1, real), "float32")
        cut = {name: np.split(_filled(ids, rows, PAD_ID), accumulation) for name, ids in inputs.items()}
        for i, part in enumerate(np.split(_filled(labels, rows, pad_label), accumulation)):
            yield {name: parts[i] for name, parts in cut.items()}, part, weights


def _filled(array, rows, value):
    return np.pad(array, ((0, rows), *((0, 0),) * (array.ndim - 1)), constant_values=value)


def own_shares(examples: Iterable[tuple], workers: Workers, of_device: bool) -> Iterator[tuple]:
    """Of each example the rows of this worker, at once or `of_device` by device."""
    for example in examples:
        slices = workers.local_rows(len(example[1]))
        for rows in slices if of_device else [slice(slices[0].start, slices[-1].stop)]:
            yield tree.map_structure(lambda array, rows=rows: array[rows], example)
