"""Folders of training runs on object stores and other file systems of fsspec: a folder of this machine and its copy.

The copy is made of whole states, generations. An object of each content is named by its hash, and an object of two,
`generation-0.json` or `generation-1.json`, lists the names and hashes of a generation; it is written last, over the
older one of both. No listing is needed, an interrupted copy changes nothing, and a damaged one leaves the other.
"""

import contextlib
import functools
import hashlib
import json
import os
import pathlib
import shutil
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from zoo.storage.arrays import write_atomically
from zoo.storage.downloads import cache_folder, is_address
from zoo.storage.remote import exists, fetch, file_system, join

ATTEMPTS, PAUSE = 5, 1.0  # Of an operation of the store, and the first seconds between two, which double.
_GENERATIONS = "generation-0.json", "generation-1.json"
_RECORD, _SNAPSHOT = ".mirror.json", ".mirror"
_OBJECT_STORES = "s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oci"
_NOTE = b"A training run of keras_transformer. The newer of generation-0.json and generation-1.json lists its files.\n"
_active: dict[pathlib.Path, "Mirror"] = {}


def local_path(folder: str | os.PathLike) -> pathlib.Path:
    """Returns the folder of this machine for a path or an address."""
    address = os.fspath(folder)
    if not is_address(address):
        return pathlib.Path(folder)
    return cache_folder() / "runs" / hashlib.sha256(address.rstrip("/").encode()).hexdigest()[:16]


def is_mirror(address: str) -> bool:
    """Returns whether the folder of a training run was copied to an address."""
    return any(exists(join(address, name)) for name in _GENERATIONS)


def open_folder(folder: str | os.PathLike, writes: bool = True) -> pathlib.Path:
    """Returns a folder of this machine: the folder itself, or the copy of one at an address, brought up to date.

    Args:
        folder: Path or address.
        writes: Whether `copy_back` is to copy it to the address again.

    Raises:
        ValueError: If what is at the address is damaged, or cannot be reached.
    """
    address = os.fspath(folder)
    if not is_address(address):
        return pathlib.Path(folder)
    try:
        mirror = Mirror(address.rstrip("/"))
        mirror.pull()
        if writes:
            mirror.begin()
    except (ValueError, ImportError):
        raise
    except Exception as error:  # Stores raise errors of many kinds.
        raise ValueError(f"{address} cannot be reached: {error}. Check the address and your credentials.") from error
    if writes:
        _active[mirror.folder] = mirror
        if mirror.pending.exists():  # An earlier process did not come to it.
            mirror.push(wait=True)
    return mirror.folder


def copy_back(folder: pathlib.Path, wait: bool = False) -> None:
    """Copies a folder that `open_folder` returned to its address; others are left alone.

    Args:
        folder: The folder, in a state from which the run can go on.
        wait: Whether to return after the end only. Otherwise the copy is made in the background, and left out while an
            earlier one is not done.

    Raises:
        ValueError: If another process has written to the address since, or, with `wait`, the copy failed.
    """
    if folder in _active:
        _active[folder].push(wait)


class Mirror:
    """A folder in the cache of this machine, and the address that it is copied to.

    Args:
        address: Address of the folder.
    """

    def __init__(self, address: str):
        self.address = address
        self.folder = local_path(address)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.pending = self.folder / ".mirror-pending"
        self._system, self._place = file_system(address)
        self._thread, self._error = None, None

    def begin(self) -> None:
        """Writes a note to the address, so that one that cannot be written to is found before the training."""
        self._make_folder(self._place)
        self._system.pipe_file(join(self._place, "README.txt"), _NOTE)

    def pull(self) -> None:
        """Replaces the folder by the newest undamaged generation, unless the folder is that one or follows it."""
        generations = self._generations()
        newest = generations[0]["number"] if generations else 0
        if newest <= self._number():  # Lower if the newest generation was deleted or damaged.
            return
        for generation in generations:
            try:
                self._restore(generation["files"])
            except (ValueError, FileNotFoundError) as error:
                warnings.warn(f"generation {generation['number']} of {self.address} is damaged: {error}", stacklevel=2)
                continue
            self.pending.unlink(missing_ok=True)
            self._record(newest)
            return
        raise ValueError(f"All copies of the run at {self.address} are damaged. Train into another folder.")

    def push(self, wait: bool) -> None:
        """Copies the folder to the address; see `copy_back`."""
        self._wait(wait)
        if isinstance(self._error, _ForeignGeneration):
            raise ValueError(str(self._error))
        if self._thread is not None:
            return
        if self._error is not None:
            warnings.warn(f"{self._error} It is tried again now.", stacklevel=2)
        self.pending.touch()
        files = self._snapshot()
        self._thread = threading.Thread(target=self._copy, args=(files,), name="copy of the run")
        self._thread.start()
        self._wait(wait)
        if wait and self._error is not None:
            raise ValueError(f"{self._error} It is complete in {self.folder}; the same command tries again.")

    def _wait(self, wait):
        if self._thread is not None and (wait or not self._thread.is_alive()):
            self._thread.join()
            self._thread = None

    def _copy(self, files):
        self._error = None
        try:
            self._upload(files)
        except _ForeignGeneration as error:
            self._error = error
        except Exception as error:  # Whatever a store raises; the run goes on.
            self._error = OSError(f"{self.folder} could not be copied to {self.address}: {error!r}.")
        finally:
            shutil.rmtree(self.folder / _SNAPSHOT, ignore_errors=True)

    def _snapshot(self):
        """Links the files of the folder, or copies those that may change in place; returns the paths by name."""
        place, found = self.folder / _SNAPSHOT, {}
        shutil.rmtree(place, ignore_errors=True)
        for path in sorted(self.folder.rglob("*")):
            name = path.relative_to(self.folder).as_posix()
            if not path.is_file() or name.startswith((".", "lock")) or name.endswith(".part"):
                continue
            found[name] = place / name
            found[name].parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".safetensors":
                with contextlib.suppress(OSError):  # No links on this file system.
                    os.link(path, found[name])
                    continue
            shutil.copyfile(path, found[name])
        return found

    def _upload(self, files):
        previous = self._retried(self._generations)
        there = previous[0] if previous else {"number": 0, "files": {}}
        if there["number"] > self._number():
            raise _ForeignGeneration(
                f"Another process trains into {self.address}: it holds generation {there['number']}, not "
                f"{self._number()}, the last one from here. Stop one of both; {self.folder} has the state of this one."
            )
        described = {}
        for name, path in files.items():
            with open(path, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            described[name] = {"sha256": digest, "bytes": path.stat().st_size}
        kept = {file["sha256"] for file in there["files"].values()}
        for name, file in described.items():
            if file["sha256"] not in kept:
                self._retried(functools.partial(self._put, files[name], file))
                kept.add(file["sha256"])
        number = there["number"] + 1
        content = _sealed({"number": number, "files": described})
        self._retried(lambda: self._system.pipe_file(join(self._place, _GENERATIONS[number % 2]), content))
        self._record(number)
        self.pending.unlink(missing_ok=True)
        older = {file["sha256"] for generation in previous[1:] for file in generation["files"].values()}
        for digest in older - kept:
            with contextlib.suppress(OSError):  # It takes space, nothing else.
                self._system.rm_file(self._object(digest))

    def _put(self, path, file):
        target = self._object(file["sha256"])
        self._make_folder(target.rpartition("/")[0])
        self._system.put_file(str(path), target)
        self._system.invalidate_cache()
        if (size := self._system.info(target)["size"]) != file["bytes"]:
            raise OSError(f"{target} has {size:,} bytes instead of {file['bytes']:,}")

    def _make_folder(self, path):
        protocol = self._system.protocol
        names = [protocol] if isinstance(protocol, str) else protocol
        if not {*names} & {*_OBJECT_STORES}:  # Those have none, and some would make a bucket.
            self._system.makedirs(path, exist_ok=True)

    def _object(self, digest):
        return join(self._place, f"files/{digest}")

    def _retried(self, call: Callable[[], Any]) -> Any:
        for attempt in range(ATTEMPTS):
            try:
                return call()
            except Exception:  # Stores raise errors of many kinds for lost connections.
                if attempt + 1 == ATTEMPTS:
                    raise
                time.sleep(PAUSE * 2**attempt)

    def _generations(self) -> list[dict]:
        """Returns the undamaged generations at the address, the newest first."""
        found = []
        for name in _GENERATIONS:
            self._system.invalidate_cache()
            try:
                found.append(_opened(self._system.cat_file(join(self._place, name))))
            except FileNotFoundError:
                continue
            except ValueError:
                warnings.warn(f"{self.address}/{name} is damaged. The other generation is used.", stacklevel=2)
        return sorted(found, key=lambda generation: -generation["number"])

    def _restore(self, files):
        for name, file in files.items():
            path = pathlib.PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or name.startswith("."):
                raise ValueError(f"a file outside of the folder, {name!r}")
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            fetch(self._system.unstrip_protocol(self._object(file["sha256"])), target, file["sha256"])
        for path in [*self._others(files)]:
            path.unlink()

    def _others(self, files) -> Iterator[pathlib.Path]:
        for path in self.folder.rglob("*"):
            name = path.relative_to(self.folder).as_posix()
            if path.is_file() and name not in files and not name.startswith((".", "lock")):
                yield path

    def _number(self):
        """Returns the number of the generation that the folder is or follows."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            return int(json.loads((self.folder / _RECORD).read_text("utf-8"))["number"])
        return 0

    def _record(self, number):
        write_atomically(self.folder / _RECORD, json.dumps({"address": self.address, "number": number}).encode())


class _ForeignGeneration(Exception):
    """Error of a store that another process has written to."""


def _sealed(value):
    digest = hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
    return json.dumps({**value, "digest": digest}, sort_keys=True).encode()


def _opened(content):
    value = json.loads(content)
    if not isinstance(value, dict) or _sealed({k: v for k, v in value.items() if k != "digest"}) != content:
        raise ValueError("altered")
    return value
