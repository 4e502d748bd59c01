"""Writing to a part of a tensor, in place where a TensorFlow graph allows it."""

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

from keras import ops

from keras_transformer.ops.compilation import compiled_by_xla
from keras_transformer.ops.once import once
from keras_transformer.ops.sizes import size, stacked

_in_place = contextvars.ContextVar("keras_transformer_updates_in_place", default=False)


@contextlib.contextmanager
def updates_in_place() -> Iterator[None]:
    """Lets `write_steps` use TensorFlow's own operation in graphs that are traced inside, instead of one of XLA's.

    XLA's copies the whole tensor and compiles a program for each shape; TensorFlow's writes in place if nothing else
    reads the tensor, but functions with `jit_compile=True` that call a graph traced here cannot be compiled. Those that
    are traced inside can: they get XLA's operation.
    """
    token = _in_place.set(True)
    try:
        yield
    finally:
        _in_place.reset(token)


def write_steps(x: Any, new: Any, start: Any) -> Any:
    """Returns `x` `[R, S, H]` with `new` `[R, T, H]` from step `start` on."""
    new = ops.cast(new, x.dtype)
    if not hasattr(new, "graph"):
        return ops.slice_update(x, (0, start, 0), new)
    if not _in_place.get() or compiled_by_xla(new.graph):
        return ops.slice_update(x, stacked(0, start, 0), new)
    import tensorflow as tf

    whole = 0b101  # The first and the last axis.
    begin, end, strides = stacked(0, start, 0), stacked(0, _end(start, size(new, 1)), 0), stacked(1, 1, 1)
    outputs = tf.raw_ops.TensorStridedSliceUpdate(
        input=x, begin=begin, end=end, strides=strides, value=new, begin_mask=whole, end_mask=whole
    )
    outputs.set_shape(x.shape)
    return outputs


def add_to_each_row(x: Any, columns: Any, values: Any) -> Any:
    """Returns `x` `[rows, C]` with `values` `[rows]` added at one of the `columns`, int32 `[rows]`, of each row.

    In TensorFlow's graphs this writes in place if nothing else reads x: `ops.scatter_update` copies it there.
    """
    rows = ops.arange(ops.shape(columns)[0], dtype="int32")
    spots = ops.stack([rows, columns], axis=-1)
    if hasattr(x, "graph") and not compiled_by_xla(x.graph):
        import tensorflow as tf

        return tf.raw_ops.ScatterNdNonAliasingAdd(input=x, indices=spots, updates=values)
    before = ops.squeeze(ops.take_along_axis(x, columns[:, None], axis=-1), -1)
    return ops.scatter_update(x, spots, before + values)


@once
def _end(start, steps):
    return start + steps
