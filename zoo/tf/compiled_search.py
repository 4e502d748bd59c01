"""Searches that XLA compiles for a few sizes, inside of a SavedModel."""

import itertools
from collections.abc import Callable, Sequence

import tensorflow as tf

from keras_transformer.decoding import Hypotheses


def compiled_search(search: Callable, rows: Sequence[int], widths: Sequence[int]) -> Callable:
    """Returns a search that pads small batches to the next size of which XLA compiles a program.

    A program is compiled at its first call, which takes seconds; other batches take the plain search. The results are
    the same.

    Args:
        search: Function `search(source [B, S], max_lengths [B], each_step=None)` that returns `Hypotheses`.
        rows, widths: Numbers of rows B and of positions S; a program for each pair.
    """
    shapes = sorted(itertools.product(sorted(set(rows)), widths), key=lambda shape: shape[0] * shape[1])
    programs = []
    for shape in shapes:
        signature = tf.TensorSpec(shape, tf.int32), tf.TensorSpec(shape[:1], tf.int32)
        programs.append(tf.function(search, input_signature=signature, jit_compile=True, autograph=False))

    def run(source, max_lengths, each_step=None):
        count, width = tf.unstack(tf.shape(source))
        longest = tf.reduce_max(max_lengths)

        def padded(program, shape):
            more = shape[0] - count
            found = program(
                tf.ensure_shape(tf.pad(source, ((0, more), (0, shape[1] - width))), shape),
                tf.ensure_shape(tf.pad(max_lengths, ((0, more),), constant_values=1), shape[:1]),
            )
            return Hypotheses(found.ids[:count, :, :longest], *(values[:count] for values in found[1:]))

        def plain():
            found = search(source, max_lengths, each_step=each_step)
            return found._replace(ids=found.ids[:, :, :longest])

        fits = tf.stack([(count <= shape[0]) & (width <= shape[1]) for shape in shapes] + [True])
        branches = [lambda p=p, shape=shape: padded(p, shape) for p, shape in zip(programs, shapes)]
        return tf.switch_case(tf.argmax(fits, output_type=tf.int32), [*branches, plain])

    return run
