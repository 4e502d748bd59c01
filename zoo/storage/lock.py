"""Lock on a folder, so that one process at a time writes to it."""

import contextlib
import os
import pathlib
import shutil
from collections.abc import Iterator


@contextlib.contextmanager
def folder_lock(folder: pathlib.Path) -> Iterator[None]:
    """Locks a folder while the block runs, on systems with `flock`; the lock ends with the process, even if killed.

    Unfinished files of killed processes (`*.part`) are deleted.

    Raises:
        ValueError: If the lock is held by another process, named in the message, or by this one.
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
