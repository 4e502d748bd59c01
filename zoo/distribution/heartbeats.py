"""Heartbeats of the processes of a training run: a worker that hangs is found within a time limit, and named.

Each worker sends a datagram a second to all others, by UDP at the port that its address in `TF_CONFIG` has for TCP. A
worker is lost if it was heard before and then is not for the time limit, or if it makes no batch for so long. Time in
which the process that watches stood still itself does not count: it could hear nobody.
"""

import atexit
import contextlib
import faulthandler
import json
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence

from zoo.distribution.exiting import exit_process, seconds_of

SECONDS = 600.0  # The time limit by default.
_PERIOD = 1.0
_LARGEST = 512  # Bytes of a datagram.


class Heartbeats:
    """Sends and receives heartbeats in two threads, until `end`.

    Args:
        addresses: Addresses `host:port` of all workers.
        index: Index of this process among them.
        seconds: Time limit.
        fail: Called once with a message if a worker is lost; by default it is printed, and the process exits with
            status 2.
        period: Seconds between two heartbeats.
    """

    def __init__(
        self,
        addresses: Sequence[str],
        index: int,
        seconds: float = SECONDS,
        fail: Callable[[str], None] | None = None,
        period: float = _PERIOD,
    ):
        self._addresses, self._index, self._seconds, self._period = addresses, index, seconds, period
        self._fail = fail or _exit
        self._awake = 0.0  # Seconds; a clock that goes on by three periods at most while this process stands still.
        self._step, self._making = 0, None  # Since when a batch is being made, if one is.
        self._heard: dict[int, tuple[float, int, float]] = {}  # Of each worker: when, its update, seconds for a batch.
        self._ended = threading.Event()
        self._socket = _bound(addresses[index])
        for work in (self._send, self._receive):
            threading.Thread(target=work, name="heartbeats", daemon=True).start()

    def beat(self, step: int) -> None:
        """Tells that an update is done."""
        self._step = step

    def watched(self, examples: Iterable) -> Iterator:
        """Yields the examples unchanged, and knows how long each takes."""
        examples = iter(examples)
        try:
            while True:
                self._making = self._awake
                try:
                    example = next(examples)
                except StopIteration:
                    return
                self._making = None
                yield example
        finally:
            self._making = None

    def end(self) -> None:
        """Tells the others that this worker has ended."""
        if not self._ended.is_set():
            self._ended.set()
            self._tell(ended=True)
            self._socket.close()

    def lost(self) -> str | None:
        """Returns a message that names a lost worker; None if all are well."""
        now, making = self._awake, self._making
        if making is not None and now - making > self._seconds:
            return self._message(self._index, f"has made no batch for {now - making:.0f} s", self._step)
        for index, (when, step, waited) in [*self._heard.items()]:
            if now - when > self._seconds:
                return self._message(index, f"has not been heard for {now - when:.0f} s", step)
            if waited > self._seconds:
                return self._message(index, f"has made no batch for {waited:.0f} s", step)
        return None

    def silent(self) -> list[str]:
        """Returns the workers that have missed their latest heartbeats."""
        limit = self._awake - 3 * self._period
        missing = sorted(index for index, (when, *_) in [*self._heard.items()] if when < limit)
        return [f"worker {index} at {self._addresses[index]}" for index in missing]

    def _message(self, index, what, step):
        own = ", this process," if index == self._index else ""
        return (
            f"Worker {index} at {self._addresses[index]}{own} {what}; its last update was {step:,}. All workers end. "
            "Start them again; they continue from the last checkpoint."
        )

    def _send(self):
        before = time.monotonic()
        while not self._ended.wait(self._period):
            now = time.monotonic()
            self._awake += min(now - before, 3 * self._period)
            before = now
            self._tell()
            if message := self.lost():
                if self._making is not None:
                    with contextlib.suppress(Exception):  # Standard error may have no descriptor.
                        faulthandler.dump_traceback(all_threads=True)  # Where it hangs.
                self._fail(message)
                return

    def _tell(self, ended=False):
        making = self._making
        waited = 0.0 if making is None else self._awake - making
        content = json.dumps({"worker": self._index, "step": self._step, "waited": waited, "ended": ended}).encode()
        for index, address in enumerate(self._addresses):
            if index != self._index:
                with contextlib.suppress(OSError):  # A host that is not known yet, or not any more.
                    host, _, port = address.rpartition(":")
                    self._socket.sendto(content, socket.getaddrinfo(host, int(port), self._socket.family)[0][4])

    def _receive(self):
        while not self._ended.is_set():
            try:
                content = json.loads(self._socket.recv(_LARGEST))
                index, step, waited = int(content["worker"]), int(content["step"]), float(content["waited"])
            except (ValueError, KeyError, TypeError):  # Somebody else's.
                continue
            except OSError:  # Closed.
                if self._ended.is_set():
                    return
                continue
            if content.get("ended"):
                self._heard.pop(index, None)
            elif index in range(len(self._addresses)) and index != self._index:
                self._heard[index] = self._awake, step, waited


_current: Heartbeats | None = None


def start(addresses: Sequence[str], index: int) -> None:
    """Starts the heartbeats of this process, until it exits; the time limit is `KERAS_TRANSFORMER_WORKER_TIMEOUT`."""
    global _current
    seconds = seconds_of("KERAS_TRANSFORMER_WORKER_TIMEOUT") or SECONDS
    try:
        _current = Heartbeats(addresses, index, seconds)
    except OSError as error:
        warnings.warn(f"Workers that hang will not be found: {addresses[index]} takes no UDP ({error}).", stacklevel=2)
        return
    atexit.register(_current.end)


def beat(step: int) -> None:
    """Tells that an update is done, if there are heartbeats."""
    if _current is not None:
        _current.beat(step)


def silent() -> str:
    """Returns a part of a message that names the workers without heartbeats; empty if none is known."""
    missing = [] if _current is None else _current.silent()
    return f" (no heartbeat of {', '.join(missing)})" if missing else ""


def watched(examples: Iterable) -> Iterable:
    """Returns the examples, watched if there are heartbeats."""
    return examples if _current is None else _current.watched(examples)


def _bound(address):
    """Returns a socket that receives at the port of an address, on all interfaces."""
    host, _, port = address.rpartition(":")
    family = socket.getaddrinfo(host, int(port), type=socket.SOCK_DGRAM)[0][0]
    found = socket.socket(family, socket.SOCK_DGRAM)
    try:
        found.bind(("", int(port)))
    except OSError:
        found.close()
        raise
    return found


def _exit(message):
    print(f"error: {message}", file=sys.stderr)
    exit_process(2)
