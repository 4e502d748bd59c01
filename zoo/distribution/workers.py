"""Processes that train one model together: who this one is, and what they tell one another."""

import contextlib
import hashlib
import json
import pathlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import safetensors.numpy

from zoo.distribution.leaving import LostWorkers, temporary_folder

_LOST = re.compile("unavailable|aborted|collective|connection|deadline|coordination|peer|gloo", re.IGNORECASE)
_STATUS = re.compile("(UNKNOWN|UNAVAILABLE|ABORTED|CANCELLED|INTERNAL|DEADLINE_EXCEEDED|FAILED_PRECONDITION): ")
_BLOCK = 2**24  # Bytes sent at once.

Message = tuple[Any, Mapping[str, np.ndarray]]  # What JSON can hold, and arrays by name.


class Workers:
    """The processes of a training. All of them run the same program and call the same methods in the same order.

    The files of a run are those of worker 0, the chief; the others write what they need into a folder of their own,
    which goes when they end, so that nothing but the corpora has to be at hand on every machine.

    Args:
        index: Which of them this process is, from 0.
        count: How many there are.
        devices: How many devices each has.
        total: `int32 [n] -> int32 [n]`, the sums over the processes, on each of them.
    """

    def __init__(
        self, index: int = 0, count: int = 1, devices: int = 1, total: Callable[[np.ndarray], np.ndarray] | None = None
    ):
        self.index, self.count, self.devices, self._total = index, count, devices, total

    @property
    def chief(self) -> bool:
        """Whether the files of the run are this process's."""
        return self.index == 0

    @property
    def replicas(self) -> int:
        """Devices of all processes."""
        return self.count * self.devices

    def shared(self, make: Callable[[], Message]) -> Message:
        """What `make` returns on the chief, on each worker; it is called there only.

        Raises:
            ValueError: On the others, if `make` fails on the chief, where its own error is raised.
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
        """Raises `ValueError` on each worker if not all have the same content; the message says who has not."""
        if self.count == 1:
            return
        table = np.zeros((self.count, 8), "int32")
        table[self.index] = np.frombuffer(hashlib.sha256(content).digest(), "int32")
        table = self._sum(table.reshape(-1)).reshape(table.shape)
        others = np.flatnonzero((table != table[0]).any(1))
        if len(others):
            raise ValueError(
                f"All workers must have the same {name}. Received: another one than worker 0's on worker "
                f"{', '.join(map(str, others))}. Start all of them with the same command and the same files."
            )

    def own_folder(self, folder: pathlib.Path) -> pathlib.Path:
        """Where this process writes: the folder itself on the chief, on the others one that goes when they end."""
        if self.chief:
            return folder
        return temporary_folder(f"worker-{self.index}-") / "run"

    def own_rows(self, rows: int) -> list[slice]:
        """Which of the rows of an example, a multiple of `replicas`, each device of this process has."""
        share, first = rows // self.replicas, self.index * self.devices
        return [slice(i * share, (i + 1) * share) for i in range(first, first + self.devices)]

    def _sum(self, values):
        with told_of_lost_workers(self):
            return self._total(values)

    def _send(self, message):
        """The chief's message, on each worker; the others hand in None."""
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


ALONE = Workers()


@contextlib.contextmanager
def told_of_lost_workers(workers: Workers) -> Iterator[None]:
    """Raises `LostWorkers` in place of what a backend says when another worker has gone."""
    try:
        yield
    except Exception as error:
        backend = type(error).__module__.startswith(("tensorflow", "jax")) or _STATUS.match(str(error))
        if workers.count == 1 or not backend or not _LOST.search(str(error)):
            raise
        raise LostWorkers(
            f"Worker {workers.index} of {workers.count} has lost the others: one of them stopped or cannot be reached, "
            "and its own output says why. Start all of them again by the same command: the training goes on from the "
            "last checkpoint."
        ) from error
