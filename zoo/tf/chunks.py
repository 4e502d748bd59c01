"""Calls of a model on chunks of rows of similar lengths, in a graph."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf


def map_in_chunks(
    lengths: tf.Tensor, chunk_tokens: int, run: Callable[[tf.Tensor], Any], empty: Any, *rows: tf.RaggedTensor
) -> Any:
    """Calls `run` on chunks of ragged rows `[N, (T)]` of similar lengths, and restores the order of the results.

    The results are those of one call on all rows, for any number and lengths of rows.

    Args:
        lengths: Lengths of the rows, int32 `[N]`.
        chunk_tokens: Maximum number of positions of a chunk, which has at least one row.
        run: Function of padded rows `[n, T]`, one tensor for each of `rows`, that returns a structure of tensors with
            `n` along the first axis. Padding is 0, of strings "".
        empty: Such a structure for no rows, with the maximum sizes of the other axes; smaller results are padded.
        rows: Inputs of the model, of the same lengths.
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

    shapes = tf.nest.map_structure(lambda tensor: tf.TensorShape([None, *tensor.shape[1:]]), empty)
    _, found = tf.while_loop(
        lambda start, found: start < tf.size(lengths), body, (0, empty), (tf.TensorShape([]), shapes)
    )
    return tf.nest.map_structure(lambda tensor: tf.gather(tensor, tf.argsort(order)), found)


def part_starts(rows: tf.Tensor, lengths: tf.Tensor, room: int) -> tf.Tensor:
    """Groups neighbouring pieces into parts of one row each and total lengths of at most `room`.

    Args:
        rows: Row of each piece, sorted, int64 `[P]`.
        lengths: Length of each piece, int64 `[P]`; a piece longer than `room` is a part of its own.

    Returns:
        Boolean `[P]`, whether the piece is the first of a part.
    """

    def place(before, piece):
        row, total, _ = before
        first = tf.not_equal(piece[0], row) | (total + piece[1] > room)
        return piece[0], tf.where(first, piece[1], total + piece[1]), first

    start = tf.constant(-1, rows.dtype), tf.constant(0, lengths.dtype), False
    return tf.scan(place, (rows, lengths), start)[2]
