"""Rows of ids sorted by length and handed to a model in chunks, in a graph."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf


def map_in_chunks(
    lengths: tf.Tensor, chunk_tokens: int, run: Callable[[tf.Tensor], Any], nothing: Any, *rows: tf.RaggedTensor
) -> Any:
    """What `run` gives for ragged rows `[N, (T)]`, called on chunks of like length.

    The results are those of one call on all rows, for any number and length of them.

    Args:
        lengths: Of the rows, int32 `[N]`.
        chunk_tokens: Most positions of a chunk; at least one row goes into each.
        run: Maps rows `[n, T]`, padded with 0 (strings: with ""), one tensor for each of `rows`, to a nest of tensors,
            `n` along the first axis.
        nothing: Such a nest for no rows; its other axes are as long as they may become. Shorter results are padded.
        rows: The rows, for models of several inputs of the same lengths.
    """
    order = tf.argsort(-lengths, stable=True)
    lengths, rows = tf.gather(lengths, order), [tf.gather(side, order) for side in rows]

    def add(found, new):
        missing = tf.concat([[0], tf.shape(found)[1:] - tf.shape(new)[1:]], 0)
        return tf.concat([found, tf.pad(new, tf.stack([tf.zeros_like(missing), missing], 1))], 0)

    def body(start, found):
        size = tf.maximum(1, chunk_tokens // lengths[start])
        new = run(*(side[start : start + size].to_tensor() for side in rows))
        return start + size, tf.nest.map_structure(add, found, new)

    shapes = tf.nest.map_structure(lambda tensor: tf.TensorShape([None, *tensor.shape[1:]]), nothing)
    _, found = tf.while_loop(
        lambda start, found: start < tf.size(lengths), body, (0, nothing), (tf.TensorShape([]), shapes)
    )
    return tf.nest.map_structure(lambda tensor: tf.gather(tensor, tf.argsort(order)), found)


def part_starts(rows: tf.Tensor, lengths: tf.Tensor, room: int) -> tf.Tensor:
    """Which of neighbouring pieces begin a new part, if each part has pieces of one row and at most `room` together.

    Args:
        rows: Row that each piece belongs to, sorted, int64 `[P]`.
        lengths: Of the pieces, int64 `[P]`; one longer than `room` is a part by itself.

    Returns:
        Boolean `[P]`.
    """

    def place(before, piece):
        row, total, _ = before
        first = tf.not_equal(piece[0], row) | (total + piece[1] > room)
        return piece[0], tf.where(first, piece[1], total + piece[1]), first

    start = tf.constant(-1, rows.dtype), tf.constant(0, lengths.dtype), False
    return tf.scan(place, (rows, lengths), start)[2]
