"""Request limits, checked in the graph of a call."""

from collections.abc import Callable

import tensorflow as tf

from zoo.limits import Limits


def check_bytes(sizes: tf.Tensor, limits: Limits) -> None:
    """Raises an error in the graph if a text has more bytes than allowed; `sizes` is int32 `[B]`."""
    message = f"An input may have at most {limits.max_bytes} bytes. Cut it, or export with a higher limit."
    tf.debugging.assert_less_equal(sizes, limits.max_bytes, message)


def start_timer(limits: Limits) -> Callable[[], None]:
    """Starts the time of a call, and returns a function that raises an error in the graph if it has run out."""
    if limits.max_seconds is None:
        return lambda: None
    end = tf.timestamp() + limits.max_seconds
    message = f"A call may take at most {limits.max_seconds} seconds. Send less, or export with a higher limit."
    return lambda: tf.debugging.assert_less(tf.timestamp(), end, message)
