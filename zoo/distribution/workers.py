"""Processes that train one model together, and communication between them."""

import contextlib
import hashlib
import json
import pathlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import safetensors.numpy

from zoo.distribution import heartbeats
from zoo.distribution.exiting import WorkerFailure, temporary_folder

_FAILURE = re.compile("unavailable|aborted|collective|connection|deadline|coordination|peer|gloo", re.IGNORECASE)
_STATUS = re.compile("(UNKNOWN|UNAVAILABLE|ABORTED|CANCELLED|INTERNAL|DEADLINE_EXCEEDED|FAILED_PRECONDITION): ")
_BLOCK = 2**24  # Bytes sent at once.

Message = tuple[Any, Mapping[str, np.ndarray]]  # A JSON value, and arrays by name.


class Workers:
    """The processes of a training run, which run the same program and call the same methods in the same order.

    Worker 0, the chief, writes the files of the run. The others write to a temporary folder, which is deleted when they
    exit, so that only the corpora must be available on every machine.

    Args:
        index: Index of this process, from 0.
        count: Number of processes.
        devices: Number of devices of each process.
        total: Function `int32 [n] -> int32 [n]` that returns the sums over the processes on each of them.
    """

    def __init__(
        self, index: int = 0, count: int = 1, devices: int = 1, total: Callable[[np.ndarray], np.ndarray] | None = None
    ):
        self.index, self.count, self.devices, self._total = index, count, devices, total

    @property
    def chief(self) -> bool:
        """Whether this process writes the files of the run."""
        return self.index == 0

    @property
    def replicas(self) -> int:
        """Number of devices of all processes."""
        return self.count * self.devices

    def broadcast(self, make: Callable[[], Message]) -> Message:
        """Calls `make` on the chief only, and returns its result on each worker.

        Raises:
            ValueError: On the other workers, if `make` fails on the chief, where the original error is raised.
        """
        if self.count == 1:
            return make()
        if not self.chief:
            content, arrays = self._send(None)
            if "error" in content:
                raise ValueError(f"Worker 0 stopped: {content['error']}")
            return content["value"], arrays
        try:
            value, arrays = make()
        except Exception as error:
            self._send(({"error": f"{error}"}, {}))
            raise
        self._send(({"value": value}, arrays))
        return value, arrays

    def check_same(self, name: str, content: bytes) -> None:
        """Raises `ValueError` on each worker if not all have the chief's content; the message names those."""
        if self.count == 1:
            return
        table = np.zeros((self.count, 8), "int32")
        table[self.index] = np.frombuffer(hashlib.sha256(content).digest(), "int32")
        table = self._sum(table.reshape(-1)).reshape(table.shape)
        others = np.flatnonzero((table != table[0]).any(1))
        if len(others):
            raise ValueError(
                f"All workers must have the same {name}. Received: one that differs from worker 0's on worker "
                f"{', '.join(map(str, others))}. Start all of them with the same command and the same files."
            )

    def sums(self, values: Sequence[int]) -> list[int]:
        """Returns the sums of integers over all workers, on each of them."""
        values = np.array(values, "int32")
        return (values if self.count == 1 else self._sum(values)).tolist()

    def local_folder(self, folder: pathlib.Path) -> pathlib.Path:
        """Returns the folder that this process writes to: `folder` on the chief, a temporary one on the others."""
        if self.chief:
            return folder
        return temporary_folder(f"worker-{self.index}-") / "run"

    def local_rows(self, rows: int) -> list[slice]:
        """Returns the rows of an example for each device of this process; `rows` is a multiple of `replicas`."""
        share, first = rows // self.replicas, self.index * self.devices
        return [slice(i * share, (i + 1) * share) for i in range(first, first + self.devices)]

    def _sum(self, values):
        with lost_worker_errors(self):
            return self._total(values)

    def _send(self, message):
        """Sends the chief's message to each worker, where it is returned; the others pass None."""
        packed = b""
        if message is not None:
            text = np.frombuffer(json.dumps(message[0]).encode(), "uint8")
            arrays = {f"array {name}": np.asarray(array, order="C") for name, array in message[1].items()}
            packed = safetensors.numpy.save({"text": text, **arrays})
        blocks, rest = self._sum(np.array(divmod(len(packed), _BLOCK), "int32")).tolist()
        size, received = blocks * _BLOCK + rest, []
        for first in range(0, size, _BLOCK):
            part = packed[first : first + _BLOCK]
            words = np.zeros(-(-min(_BLOCK, size - first) // 4), "int32")
            words.view("uint8")[: len(part)] = np.frombuffer(part, "uint8")
            received.append(self._sum(words).tobytes())
        if message is not None:
            return message
        arrays = safetensors.numpy.load(b"".join(received)[:size])
        text = arrays.pop("text").tobytes()
        return json.loads(text), {name.removeprefix("array "): array for name, array in arrays.items()}


SINGLE_PROCESS = Workers()


@contextlib.contextmanager
def lost_worker_errors(workers: Workers) -> Iterator[None]:
    """Raises `WorkerFailure` in place of the error of a backend if another worker has stopped."""
    try:
        yield
    except Exception as error:
        backend = type(error).__module__.startswith(("tensorflow", "jax")) or _STATUS.match(str(error))
        if workers.count == 1 or not backend or not _FAILURE.search(str(error)):
            raise
        raise WorkerFailure(
            f"Worker {workers.index} of {workers.count} has lost the others: one of them stopped, hangs or cannot be "
            f"reached{heartbeats.silent()}; see its output for the reason. Start all workers again by the same "
            "command: it resumes from the last checkpoint."
        ) from error
