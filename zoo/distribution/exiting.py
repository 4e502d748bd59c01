"""Exit of a process after a worker failure, and folders that are deleted at the exit."""

import atexit
import os
import pathlib
import shutil
import sys
import tempfile

_folders: list[str] = []


class WorkerFailure(ConnectionError):
    """Raised if another worker of a training run has stopped or cannot be reached."""


def temporary_folder(prefix: str) -> pathlib.Path:
    """Creates a folder that is deleted when this process exits."""
    _folders.append(tempfile.mkdtemp(prefix=prefix))
    return pathlib.Path(_folders[-1])


def exit_process(status: int) -> None:
    """Exits immediately. After a `WorkerFailure` JAX would wait a minute for the other workers, then abort."""
    _remove_folders()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


@atexit.register
def _remove_folders():
    while _folders:
        shutil.rmtree(_folders.pop(), ignore_errors=True)
