"""Conversion of examples to a `tf.data.Dataset`."""

import itertools
import typing

import numpy as np
import tensorflow as tf

from zoo.corpora.batching import Corpus


def shuffled_dataset(corpus: Corpus, batch_size: int, shuffle: bool, seed: int) -> tf.data.Dataset:
    """Returns the batches `corpus.gather` of a corpus, of `batch_size` rows each and as wide as the longest of them.

    Args:
        corpus: The corpus.
        batch_size: Number of rows of a batch; the last one may have fewer.
        shuffle: Whether the order of the rows is random, and another one in each epoch.
        seed: Seed of the order.

    Raises:
        ValueError: If the corpus is empty.
    """
    lengths = corpus.lengths()
    if not len(lengths[0]):
        raise ValueError("There must be at least one example. Received: none.")
    rows = tf.data.Dataset.range(len(lengths[0]))
    rows = rows.shuffle(len(lengths[0]), seed=seed) if shuffle else rows

    def gather(numbers):
        return corpus.gather(numbers, [int(side[numbers].max()) for side in lengths], 0)

    first = gather(np.arange(1))
    names, dtypes = [*first], [array.dtype for array in first.values()]

    def batch(numbers):
        tensors = tf.numpy_function(lambda numbers: [*gather(numbers).values()], [numbers], dtypes)
        return {name: tf.ensure_shape(ids, [None] * first[name].ndim) for name, ids in zip(names, tensors)}

    return without_autotuning(rows.batch(batch_size).map(batch).prefetch(2))


def numbered_map(
    batches: tf.data.Dataset, function: typing.Callable[[int, dict], dict], ranks: typing.Mapping[str, int]
) -> tf.data.Dataset:
    """Maps batches by `function(number, arrays)` of NumPy arrays, which returns int32 arrays of these ranks by name."""
    names = [*batches.element_spec]

    def apply(number, batch):
        def run(number, *arrays):
            found = function(int(number), dict(zip(names, arrays)))
            return [found[name] for name in ranks]

        tensors = tf.numpy_function(run, [number, *(batch[name] for name in names)], [tf.int32] * len(ranks))
        return {name: tf.ensure_shape(ids, [None] * ranks[name]) for name, ids in zip(ranks, tensors)}

    return batches.enumerate().map(apply)


def training_dataset(examples: typing.Iterable, prefetch: int = 4) -> tf.data.Dataset:
    """Converts examples, structures of arrays of constant ranks and types, to a dataset that prefetches in a thread.

    `Dataset.from_generator` would do the same, but its first use makes the C library return all freed memory to the
    system (it sets M_TRIM_THRESHOLD to 128 kB), which makes training steps on a CPU about a fifth slower.
    """
    stream = iter(examples)
    first = next(stream)
    stream = itertools.chain([first], stream)
    arrays = tf.nest.flatten(first)
    end = [np.zeros((0,) * array.ndim, array.dtype) for array in arrays]

    def fetch(_):
        example = next(stream, None)
        return *(end if example is None else tf.nest.flatten(example)), example is not None

    def example(number):
        *tensors, more = tf.numpy_function(fetch, [number], [*(array.dtype for array in arrays), tf.bool])
        tensors = [tf.ensure_shape(tensor, [None] * array.ndim) for tensor, array in zip(tensors, arrays)]
        return tf.ensure_shape(more, ()), tf.nest.pack_sequence_as(first, tensors)

    dataset = tf.data.Dataset.counter().map(example).take_while(lambda more, example: more)
    return without_autotuning(dataset.map(lambda more, example: example).prefetch(prefetch))


def without_autotuning(dataset):
    """Returns the dataset without the thread that tunes its parameters, of which it has none.

    That thread sleeps up to a minute at a time, and the end of an iterator waits for it.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)
