"""A lock on a folder: one process writes in it at a time."""

import contextlib
import os
import pathlib
import shutil
from collections.abc import Iterator


@contextlib.contextmanager
def locked(folder: pathlib.Path) -> Iterator[None]:
    """Keeps other processes from writing in a folder, on systems with `flock`; a killed process keeps no lock.

    What a killed one was writing, which has no name yet, is deleted.

    Raises:
        ValueError: If another process, or another training of this one, has the lock; the message names it.
    """
    try:
        import fcntl
    except ImportError:  # Windows.
        yield
        return
    with open(folder / "lock", "a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            raise ValueError(
                f"{folder} is in use by another process, {file.read().strip() or 'unknown'}. "
                "Wait for it, or use another folder; nothing was changed."
            ) from error
        file.truncate(0)
        file.write(f"{os.getpid()} on {os.uname().nodename}\n")
        file.flush()
        for part in folder.glob("**/*.part"):
            part.unlink() if part.is_file() else shutil.rmtree(part)
        yield
