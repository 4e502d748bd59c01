"""Batches of NumPy arrays as a tf.data.Dataset."""

import typing

import numpy as np
import tensorflow as tf


def training_dataset(batches: typing.Iterable, prefetch: int = 4) -> tf.data.Dataset:
    """Feeds `(inputs, labels, weights)`, as `zoo.trainer.weighted` makes them, to `fit`, made ahead in a thread.

    `Dataset.from_generator` would do the same, but its first use makes the C library give every freed array
    back to the system (it sets M_TRIM_THRESHOLD to 128 kB), which costs a training step on a CPU about a fifth.
    """
    stream = iter(batches)
    nothing = np.zeros((0, 0), "int32")

    def fetch(_):
        inputs, labels, weights = next(stream, ({"source": nothing, "target": nothing}, nothing, None))
        if weights is None:
            return nothing, nothing, nothing, np.zeros(0, "float32"), False
        return inputs["source"], inputs["target"], labels, weights, True

    def batch(number):
        *ids, weights, more = tf.numpy_function(fetch, [number], [tf.int32] * 3 + [tf.float32, tf.bool])
        source, target, labels = (tf.ensure_shape(rows, (None, None)) for rows in ids)
        weights, more = tf.ensure_shape(weights, (None,)), tf.ensure_shape(more, ())
        return more, ({"source": source, "target": target}, labels, weights)

    dataset = tf.data.Dataset.counter().map(batch).take_while(lambda more, example: more)
    return dataset.map(lambda more, example: example).prefetch(prefetch)
