"""Lock on a folder, so that one process at a time writes to it."""

import contextlib
import os
import pathlib
import shutil
from collections.abc import Iterator


@contextlib.contextmanager
def file_lock(path: pathlib.Path, wait: bool) -> Iterator[None]:
    """Locks a file while the block runs, on systems with `flock`; the lock ends with the process, even if killed.

    Args:
        path: Created if it does not exist; contains the process that locked it last.
        wait: Whether to wait if the lock is held.

    Raises:
        ValueError: If `wait` is False and another process, named in the message, or this one holds the lock.
    """
    try:
        import fcntl
    except ImportError:  # Windows.
        yield
        return
    with open(path, "a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError as error:
            file.seek(0)
            raise ValueError(
                f"{path.parent} is in use by another process, {file.read().strip() or 'unknown'}. "
                "Wait for it, or use another folder; nothing was changed."
            ) from error
        file.truncate(0)
        file.write(f"{os.getpid()} on {os.uname().nodename}\n")
        file.flush()
        yield


@contextlib.contextmanager
def folder_lock(folder: pathlib.Path) -> Iterator[None]:
    """Locks a folder while the block runs, as `file_lock` does, and first deletes unfinished files (`*.part`).

    Raises:
        ValueError: If the lock is held.
    """
    with file_lock(folder / "lock", wait=False):
        for part in folder.glob("**/*.part"):
            part.unlink() if part.is_file() else shutil.rmtree(part)
        yield
