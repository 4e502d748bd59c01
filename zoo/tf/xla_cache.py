"""A cache on disk of what XLA has compiled, which later processes load instead.

TensorFlow has such a cache, but fails at an incomplete file, as after a kill, or while another process writes it. So
each process has a folder of its own, with links to the complete files of the shared one; what it compiles is moved
there by an atomic rename. The files are found by TensorFlow itself, by the program and the shapes. It reads the name of
the folder once, at its first operation.
"""

import atexit
import contextlib
import functools
import hashlib
import os
import pathlib
import platform
import re
import shutil
import tempfile
import time

import tensorflow as tf

from zoo.storage.downloads import cache_folder, program_cache_megabytes

_RESERVE = 1024  # Megabytes of space on the disk that remain.
_FLAG = "--tf_xla_persistent_cache_directory"
_MONTH = 30 * 24 * 3600.0
_SETTLED = 1.0  # Seconds.


class XlaCache:
    """Files of compiled programs, shared by processes; those of other processes are there after `fill`.

    Args:
        shared: Folder of complete files.
        megabytes: Size beyond which the oldest files are deleted.
    """

    def __init__(self, shared: pathlib.Path, megabytes: float = 128):
        self._shared, self._megabytes = shared, megabytes
        shared.mkdir(parents=True, exist_ok=True)
        self._process, self._published, self._filled = os.getpid(), set(), False
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=_prefix(self._process), dir=shared.parent))

    def fill(self) -> "XlaCache":
        """Links the complete files of the shared folder, and deletes the others; later calls do nothing."""
        if self._filled:
            return self
        self._filled = True
        self._delete_old()
        with contextlib.suppress(OSError):  # Another process has deleted the folder.
            for path in sorted(self._shared.iterdir()):
                with contextlib.suppress(OSError):  # Deleted by another process.
                    name, _, digest = path.name.rpartition(".")
                    if _digest(path) == digest:
                        os.link(path, self.folder / name)
                        self._published.add(name)
                    else:
                        path.unlink()
        return self

    def publish(self, age: float = _SETTLED) -> None:
        """Shares files that TensorFlow has written, and not changed for `age` seconds: others may be incomplete."""
        with contextlib.suppress(OSError):  # Without space or the folder, the next process compiles again.
            for path in [*self.folder.iterdir()]:
                if path.name not in self._published and time.time() - path.stat().st_mtime >= age:
                    self._published.add(path.name)
                    digest = _digest(path)
                    part = self.folder / f"{digest}.part"
                    self._published.add(part.name)
                    shutil.copyfile(path, part)
                    os.replace(part, self._shared / f"{path.name}.{digest}")

    def close(self) -> None:
        """Shares what remains, and deletes the folder of this process; does nothing in a copy of the process."""
        if os.getpid() != self._process:
            return
        self.publish(age=0.0)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _delete_old(self):
        """Deletes the oldest files of a cache that is too large, and what processes that were killed have left."""
        with contextlib.suppress(OSError):
            files = sorted(((path.stat().st_mtime, path) for path in self._shared.iterdir()), reverse=True)
            total = 0
            for _, path in files:
                total += path.stat().st_size
                if total > self._megabytes * 2**20:
                    path.unlink()
        for path in self._shared.parent.glob("process-*"):
            with contextlib.suppress(OSError):
                if _has_ended(path):
                    shutil.rmtree(path)


@functools.cache
def persistent_cache() -> XlaCache | None:
    """Returns the cache of this process; None if it is off.

    TensorFlow uses it if the first call of this function is before the first operation, as `zoo.load` has it.
    """
    megabytes = program_cache_megabytes()
    flags = re.sub(rf"{_FLAG}=\S*/process-\S+", "", os.environ.get("TF_XLA_FLAGS", ""))  # Of a parent process.
    os.environ["TF_XLA_FLAGS"] = flags.strip()
    if megabytes <= 0 or _FLAG in flags:
        return None
    shared = cache_folder() / "xla" / _machine()
    try:
        cache = XlaCache(shared, megabytes)
        if shutil.disk_usage(shared).free < (megabytes + _RESERVE) * 2**20:
            cache.close()
            return None
    except OSError:  # A folder that cannot be written is no reason not to translate.
        return None
    os.environ["TF_XLA_FLAGS"] = f"{flags} {_FLAG}={cache.folder}".strip()
    atexit.register(cache.close)
    return cache


def _machine():
    """Returns a name for TensorFlow's version and the instructions of the processor."""
    with contextlib.suppress(OSError):
        lines = pathlib.Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
        facts = tf.__version__, platform.machine(), flags
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
    return hashlib.sha256(repr((tf.__version__, platform.machine(), platform.node())).encode()).hexdigest()[:16]


def _prefix(process):
    return f"process-{platform.node()}-{process}-"


def _has_ended(folder):
    """Returns whether the process of a folder is none of this machine; one of another machine counts for a month."""
    machine, _, process = folder.name.rsplit("-", 1)[0].removeprefix("process-").rpartition("-")
    if machine != platform.node():
        return time.time() - folder.stat().st_mtime > _MONTH
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, ValueError):
        return False
    return False


def _digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
