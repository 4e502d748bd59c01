"""Files on object stores and other file systems, by fsspec: `s3://`, `gs://`, `hdfs://`, `memory://` and others."""

import hashlib
import os
import pathlib
from typing import Any

from zoo.extras import require
from zoo.storage.arrays import write_errors
from zoo.storage.downloads import cache_folder, is_address
from zoo.storage.lock import file_lock

_BLOCK = 1 << 22


def join(folder: str | os.PathLike, name: str) -> str:
    """Returns the path of a file in a folder, which may be an address."""
    return f"{os.fspath(folder).rstrip('/')}/{name}"


def exists(path: str | os.PathLike) -> bool:
    """Returns whether a file exists, at a path or an address."""
    if not is_address(os.fspath(path)):
        return os.path.exists(path)
    system, place = file_system(path)
    return system.exists(place)


def read_bytes(path: str | os.PathLike) -> bytes:
    """Returns the content of a file.

    Raises:
        FileNotFoundError: If it does not exist.
        OSError: If the file system cannot be reached.
    """
    if not is_address(os.fspath(path)):
        return pathlib.Path(path).read_bytes()
    system, place = file_system(path)
    return system.cat_file(place)


def local_copy(path: str | os.PathLike, sha256: str) -> pathlib.Path:
    """Returns a file of this machine with the content of a file: itself, or a copy in the cache, which is kept.

    Args:
        path: Path or address.
        sha256: Hash of the content, by which the copy is found again.

    Raises:
        ValueError: If the content at an address has another hash.
    """
    if not is_address(os.fspath(path)):
        return pathlib.Path(path)
    copy = cache_folder() / "files" / sha256
    if copy.exists():
        return copy
    copy.parent.mkdir(parents=True, exist_ok=True)
    with file_lock(copy.with_suffix(".lock"), wait=True):
        if not copy.exists():
            fetch(path, copy, sha256)
    return copy


def fetch(path: str | os.PathLike, copy: pathlib.Path, sha256: str) -> None:
    """Copies the file at an address to this machine, whole or not at all.

    Raises:
        ValueError: If its content has another hash.
    """
    system, place = file_system(path)
    part, found = copy.with_suffix(f".{os.getpid()}.part"), hashlib.sha256()
    try:
        with write_errors(copy), system.open(place, "rb") as source, open(part, "wb") as target:
            while block := source.read(_BLOCK):
                found.update(block)
                target.write(block)
        if found.hexdigest() != sha256:
            raise ValueError(
                f"{path} must have the SHA-256 {sha256}. Received: {found.hexdigest()}. It was altered after it was "
                "written; restore it."
            )
        os.replace(part, copy)
    finally:
        part.unlink(missing_ok=True)


def file_system(path: str | os.PathLike) -> tuple[Any, str]:
    """Returns the fsspec file system of an address, and the path there."""
    require(f"Reading {path}", "fsspec")
    import fsspec

    try:
        return fsspec.core.url_to_fs(os.fspath(path))
    except (ImportError, ValueError) as error:  # The package of this kind of address is missing, or it is unknown.
        raise ValueError(f"{path} cannot be read: {error}") from error
