"""The limits of a call, held in its graph."""

from collections.abc import Callable

import tensorflow as tf

from zoo.limits import Limits


def check_bytes(sizes: tf.Tensor, limits: Limits) -> None:
    """Ends a call by an error if a text has more bytes than it may have; `sizes` is int32 `[B]`."""
    message = f"A text may have at most {limits.max_bytes} bytes. Cut it, or export with a higher limit."
    tf.debugging.assert_less_equal(sizes, limits.max_bytes, message)


def start_timer(limits: Limits) -> Callable[[], None]:
    """Begins the time of a call. What it returns ends the call by an error if that has been too long."""
    if limits.max_seconds is None:
        return lambda: None
    end = tf.timestamp() + limits.max_seconds
    message = f"A call may take at most {limits.max_seconds} seconds. Send less, or export with a higher limit."
    return lambda: tf.debugging.assert_less(tf.timestamp(), end, message)
