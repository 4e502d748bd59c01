"""Functions that XLA compiles in the background, for shapes that are called often enough to gain by it."""

import concurrent.futures
import dataclasses
import functools
import math
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

_RUNS = 3  # Of a compiled function, of which the fastest counts at first.
_WEIGHT = 0.1  # Of each call in the average time of a compiled function.


@dataclasses.dataclass
class _Shape:
    """What is known of a shape: calls of the plain function, and seconds of the compiled one, if it is ready."""

    calls: int = 0
    seconds: float = 0.0
    rows: int = 0  # Of these calls, without padding.
    requested: bool = False
    compiled_seconds: float = math.inf

    def plain_seconds(self, rows: int) -> float:
        """Returns how long the plain function takes on average for so many rows."""
        return rows * self.seconds / self.rows if self.rows else math.inf


class AutoCompiled:
    """Calls a plain function while nothing is compiled, and the compiled one where that is faster on average.

    A shape is compiled once its calls have taken as long as a compilation takes, so that the work of compiling is at
    most doubled, whatever follows; a script that calls it a few times compiles nothing. Errors of the compilation leave
    the plain function in use. Calls may come from several threads.

    Args:
        plain: Function of arrays for all shapes.
        compiled: The same function, which compiles each shape in its first call.
        pad: Function that pads the arrays to few shapes, `pad(*arrays) -> arrays`.
        max_shapes: Most shapes that are compiled, as each takes memory.
        compile_seconds: Expected time of a compilation, until one was measured.
        submit: Function that calls a function in the background.
        clock: Function that returns seconds.
    """

    def __init__(
        self,
        plain: Callable,
        compiled: Callable,
        pad: Callable,
        max_shapes: int = 16,
        compile_seconds: float = 3.0,
        submit: Callable[[Callable], Any] | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ):
        self._plain, self._compiled, self._pad, self._max_shapes = plain, compiled, pad, max_shapes
        self._submit, self._clock, self._compile_seconds = submit or _background().submit, clock, compile_seconds
        self._shapes, self._lock = {}, threading.Lock()

    def __call__(self, *arrays):
        padded = self._pad(*arrays)
        shape, rows, start = self._shape(padded), max(1, len(arrays[0])), self._clock()
        if shape.compiled_seconds < shape.plain_seconds(rows):
            outputs = self._compiled(*padded)
            shape.compiled_seconds += _WEIGHT * (self._clock() - start - shape.compiled_seconds)
            return outputs
        outputs = self._plain(*arrays)
        seconds = self._clock() - start
        with self._lock:
            shape.calls += 1
            if shape.calls > 1:  # The first call may trace the graph.
                shape.seconds += seconds
                shape.rows += rows
            wanted = shape.seconds >= self._compile_seconds and not shape.requested
            if wanted and sum(other.requested for other in self._shapes.values()) < self._max_shapes:
                shape.requested = True
                self._submit(functools.partial(self._try_to_compile, shape, padded))
        return outputs

    def warm_up(self, *arrays) -> None:
        """Compiles the function for the shape of the arrays now."""
        padded = self._pad(*arrays)
        shape = self._shape(padded)
        shape.requested = True
        self._compile(shape, padded)
        shape.rows, shape.seconds = 1, math.inf  # It is wanted, whatever the plain function takes.

    def _shape(self, padded):
        key = tuple((np.shape(array), str(array.dtype)) for array in padded)
        with self._lock:
            return self._shapes.setdefault(key, _Shape())

    def _try_to_compile(self, shape, padded):
        if not threading.main_thread().is_alive():  # The program ends.
            return
        try:
            self._compile(shape, padded)
        except Exception:  # Whatever XLA cannot do, the plain function can.
            shape.compiled_seconds = math.inf

    def _compile(self, shape, padded):
        start = self._clock()
        self._compiled(*padded)
        first, times = self._clock() - start, []
        for _ in range(_RUNS):
            start = self._clock()
            self._compiled(*padded)
            times.append(self._clock() - start)
        with self._lock:
            self._compile_seconds = first
            shape.compiled_seconds = min(times)


@functools.cache
def _background():
    """Returns the executor of compilations, one at a time."""
    return concurrent.futures.ThreadPoolExecutor(max_workers=1, thread_name_prefix="compilation")
