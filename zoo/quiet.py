"""Suppression of the messages that backends print when they start, such as those about missing GPUs."""

import contextlib
import os
from collections.abc import Iterator


@contextlib.contextmanager
def quiet_start() -> Iterator[None]:
    """Discards what native libraries print to stderr inside the block; Python's exceptions are still raised.

    TensorFlow prints two lines before it reads TF_CPP_MIN_LOG_LEVEL. If that variable is set, nothing is discarded.
    """
    if "TF_CPP_MIN_LOG_LEVEL" in os.environ:
        yield
        return
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    stderr = os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
