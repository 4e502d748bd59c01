"""Lock on a folder, so that one process at a time writes to it."""

import contextlib
import os
import pathlib
import platform
import shutil
from collections.abc import Iterator

import filelock


@contextlib.contextmanager
def file_lock(path: pathlib.Path, wait: bool) -> Iterator[None]:
    """Locks a file while the block runs; the lock ends with the process, even if killed.

    Args:
        path: Created if it does not exist.
        wait: Whether to wait if the lock is held.

    Raises:
        ValueError: If `wait` is False and another process, named in the message, or this one holds the lock.
    """
    owner = path.with_name(f"{path.name}.owner")  # Windows does not let others read the locked file itself.
    try:
        held = filelock.FileLock(path).acquire(blocking=wait)
    except filelock.Timeout as error:
        name = owner.read_text("utf-8") if owner.exists() else "unknown"
        raise ValueError(
            f"{path.parent} is in use by another process, {name}. "
            "Wait for it, or use another folder; nothing was changed."
        ) from error
    with held:
        owner.write_text(f"{os.getpid()} on {platform.node()}", "utf-8")
        try:
            yield
        finally:
            owner.unlink(missing_ok=True)


@contextlib.contextmanager
def folder_lock(folder: pathlib.Path) -> Iterator[None]:
    """Locks a folder while the block runs, as `file_lock` does, and first deletes unfinished files (`*.part`).

    Raises:
        ValueError: If the lock is held.
    """
    with file_lock(folder / "lock", wait=False):
        for part in folder.glob("**/*.part"):
            part.unlink() if part.is_file() or part.is_symlink() else shutil.rmtree(part)
        yield
