"""Backends start with lines about missing graphics cards that nobody at a terminal asked for."""

import contextlib
import os
from collections.abc import Iterator


@contextlib.contextmanager
def quiet_start() -> Iterator[None]:
    """Sends what native libraries print to stderr inside the block to nowhere; Python's errors still pass.

    TensorFlow writes two of its lines before it reads TF_CPP_MIN_LOG_LEVEL. Setting that variable shows everything.
    """
    if "TF_CPP_MIN_LOG_LEVEL" in os.environ:
        yield
        return
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    kept = os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
