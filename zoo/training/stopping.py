"""Signals that stop a training run: after the current update, and on all workers after the same one."""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator

from zoo.distribution.exiting import exit_process, seconds_of
from zoo.distribution.workers import SINGLE_PROCESS, Workers

_SIGNALS = signal.SIGINT, signal.SIGTERM
_SECONDS = 5.0  # Between two exchanges of several workers, so that their cost does not show.
_NOTICE = b"\nstopping after this update; a second signal ends at once, without saving\n"


class TrainingStopped(KeyboardInterrupt):
    """Raised after a signal has stopped a training run and its state is saved; the message names the update.

    Args:
        message: What was saved.
        number: Number of the signal.
    """

    def __init__(self, message: str, number: int):
        super().__init__(message)
        self.status = 128 + number


def _give_up(number, seconds):
    name = signal.Signals(number).name
    print(f"{name}: not saved within {seconds:g} s; the last checkpoint is left as it was", file=sys.stderr)
    exit_process(128 + number)


class StopSignals:
    """Remembers the first SIGINT or SIGTERM inside its `with` block; the second one ends the process at once.

    If `KERAS_TRANSFORMER_GRACE` is set, the process ends so many seconds after the first signal at the latest, with the
    status of the signal: what was saved last is left whole.

    Only the main thread of a process can receive signals; elsewhere the block changes nothing.

    Args:
        workers: The processes that train together. A signal to one of them stops all.

    Attributes:
        received: Number of the first signal; 0 if there was none.
    """

    def __init__(self, workers: Workers = SINGLE_PROCESS):
        self.received, self._workers, self._previous = 0, workers, {}
        self._interruptible = False
        self._next, self._last = 0, None
        self._grace, self._timer = seconds_of("KERAS_TRANSFORMER_GRACE"), None

    def __enter__(self) -> "StopSignals":
        if threading.current_thread() is threading.main_thread():
            for (
                number
            ) in _SIGNALS:  # A process in the background may ignore them; None is a handler of another language.
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._previous[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *exception):
        if self._timer is not None:
            self._timer.cancel()
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _receive(self, number, frame):
        self.received = number
        for each in self._previous:
            signal.signal(each, signal.SIG_DFL)
        with contextlib.suppress(OSError):
            os.write(2, _NOTICE)  # Not print, which may be what the signal interrupts.
        if self._grace is not None:
            self._timer = threading.Timer(self._grace, _give_up, (number, self._grace))
            self._timer.daemon = True
            self._timer.start()
        if self._interruptible:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """Is a block that a signal ends by `KeyboardInterrupt`, but not if other workers would wait for this one."""
        self._interruptible = self._workers.count == 1
        try:
            if self._interruptible and self.received:
                raise KeyboardInterrupt
            yield
        finally:
            self._interruptible = False

    def agreed(self, update: int, due: bool = False) -> int:
        """Returns the number of the signal for which all workers stop after this update; 0 to continue.

        Several workers exchange their signals about every five seconds, after an update that the chief chooses.

        Args:
            update: Number of updates so far, the same on all workers.
            due: Whether the workers exchange their signals after this update in any case.
        """
        if self._workers.count == 1:
            return self.received
        if update < self._next and not due:
            return 0
        interval = self._interval(update) if self._workers.chief else 0
        *received, interval = self._workers.sums([*(self.received == number for number in _SIGNALS), interval])
        self._next = update + interval
        return next((number for number, count in zip(_SIGNALS, received) if count), 0)

    def _interval(self, update):
        """Returns the updates until the next exchange, by the time that the latest ones took."""
        now, interval = time.monotonic(), 1
        if self._last is not None:
            seconds = (now - self._last[1]) / max(1, update - self._last[0])
            interval = int(min(1000, max(1, _SECONDS / max(seconds, 1e-6))))
        self._last = update, now
        return interval
