"""Start of the backend: without its messages, such as those about missing GPUs, and without what nobody uses."""

import contextlib
import os
import sys
from collections.abc import Iterator

# Keras imports them where they are installed, which takes a second; nothing here uses its parts that need them.
_UNUSED = "sklearn", "matplotlib"


def start_backend() -> None:
    """Imports Keras and its backend for a command; its parts for scikit-learn and for pictures stay unavailable."""
    absent = [name for name in _UNUSED if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # None makes their import fail.
    try:
        with quiet_start():
            import keras  # noqa: F401
    finally:
        for name in absent:
            sys.modules.pop(name, None)


@contextlib.contextmanager
def quiet_start() -> Iterator[None]:
    """Discards what native libraries print to stderr inside the block; Python's exceptions are still raised.

    TensorFlow prints two lines before it reads TF_CPP_MIN_LOG_LEVEL. If that variable is set, nothing is discarded.
    """
    if "TF_CPP_MIN_LOG_LEVEL" in os.environ:
        yield
        return
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    with discarded_stderr():
        yield


@contextlib.contextmanager
def discarded_stderr() -> Iterator[None]:
    """Discards what native libraries and child processes print to stderr inside the block."""
    stderr = os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
