"""Exit of a command, of a process after a worker failure, and folders that are deleted at the exit."""

import atexit
import contextlib
import os
import pathlib
import shutil
import sys
import tempfile

_folders = contextlib.ExitStack()
_status = None  # Of a command that has ended.


def _leave_out_teardown():
    if _status is not None:
        exit_process(_status)


atexit.register(_leave_out_teardown)  # Called after all that is registered later: backends and threads have ended.
atexit.register(_folders.close)


class WorkerFailure(ConnectionError):
    """Raised if another worker of a training run has stopped or cannot be reached."""


def seconds_of(name: str) -> float | None:
    """Returns the seconds in an environment variable; None if it is not set.

    Raises:
        ValueError: If it is no positive number.
    """
    text = os.environ.get(name, "").strip()
    if not text:
        return None
    with contextlib.suppress(ValueError):
        if 0 < float(text) < float("inf"):
            return float(text)
    raise ValueError(f"{name} must be a positive number of seconds. Received: {text!r}. Correct or unset it.")


def temporary_folder(prefix: str) -> pathlib.Path:
    """Creates a folder that is deleted when this process exits."""
    folder = tempfile.mkdtemp(prefix=prefix)
    _folders.callback(shutil.rmtree, folder, ignore_errors=True)
    return pathlib.Path(folder)


def exit_command(status: int) -> None:
    """Raises `SystemExit`, and leaves out the teardown of all modules then, which takes TensorFlow most of a second."""
    global _status
    _status = status
    raise SystemExit(status)


def exit_process(status: int) -> None:
    """Exits immediately. After a `WorkerFailure` JAX would wait a minute for the other workers, then abort."""
    _folders.close()
    with contextlib.suppress(OSError, ValueError):  # Closed pipes and full disks, of which `run` has told.
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)
