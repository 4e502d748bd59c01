"""The end of a process that has lost those that it trained with."""

import atexit
import os
import pathlib
import shutil
import sys
import tempfile

_folders: list[str] = []


class LostWorkers(ConnectionError):
    """Another worker of a training has stopped, or cannot be reached."""


def temporary_folder(prefix: str) -> pathlib.Path:
    """A new folder that goes when this process ends."""
    _folders.append(tempfile.mkdtemp(prefix=prefix))
    return pathlib.Path(_folders[-1])


def leave(status: int) -> None:
    """Ends this process at once. After `LostWorkers` JAX would wait a minute for the others, and then abort."""
    _remove_folders()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


@atexit.register
def _remove_folders():
    while _folders:
        shutil.rmtree(_folders.pop(), ignore_errors=True)
