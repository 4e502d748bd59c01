"""Exit of a process after a worker failure, and folders that are deleted at the exit."""

import atexit
import contextlib
import os
import pathlib
import shutil
import sys
import tempfile

_folders = contextlib.ExitStack()
atexit.register(_folders.close)


class WorkerFailure(ConnectionError):
    """Raised if another worker of a training run has stopped or cannot be reached."""


def temporary_folder(prefix: str) -> pathlib.Path:
    """Creates a folder that is deleted when this process exits."""
    folder = tempfile.mkdtemp(prefix=prefix)
    _folders.callback(shutil.rmtree, folder, ignore_errors=True)
    return pathlib.Path(folder)


def exit_process(status: int) -> None:
    """Exits immediately. After a `WorkerFailure` JAX would wait a minute for the other workers, then abort."""
    _folders.close()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
