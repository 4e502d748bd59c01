"""Requests that arrive while the model computes are computed together, next."""

import asyncio
import concurrent.futures
import time
from collections.abc import Callable, Hashable, Sequence


class ExpiredError(Exception):
    """Raised for a request that took too long."""


class _Job:
    def __init__(self, key, run, inputs, deadline, future):
        self.key, self.run, self.inputs, self.deadline, self.future = key, run, inputs, deadline, future

    def is_over(self):
        return self.future.done() or time.monotonic() > self.deadline


class Batcher:
    """Runs functions of lists of inputs in one thread, and joins the lists of requests that want the same.

    A request waits for nobody while the thread is free; those that come while it computes are joined.

    Args:
        max_batch: Number of inputs that are computed together, unless one request has more.
        max_seconds: Seconds until a request has failed.
        on_batch: Called with the number of inputs of each batch.
    """

    def __init__(self, max_batch: int, max_seconds: float, on_batch: Callable[[int], None]):
        self._max_batch, self._max_seconds, self._on_batch, self._jobs = max_batch, max_seconds, on_batch, []
        self._thread = concurrent.futures.ThreadPoolExecutor(1, "model")
        self._arrived, self._worker = asyncio.Event(), None

    async def run(self, key: Hashable, run: Callable[[list, Callable], Sequence], inputs: list) -> list:
        """Returns the outputs of `run(inputs, progress)`, one for each input.

        Args:
            key: Requests of the same key are joined.
            run: Computes outputs. It calls `progress(count)` now and then, which raises if nobody waits any more.
            inputs: The inputs.

        Raises:
            ExpiredError: If it took too long.
        """
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())
        future = asyncio.get_running_loop().create_future()
        job = _Job(key, run, inputs, time.monotonic() + self._max_seconds, future)
        self._jobs.append(job)
        self._arrived.set()
        try:
            return await asyncio.wait_for(future, self._max_seconds)
        except TimeoutError:
            raise ExpiredError from None

    async def close(self) -> None:
        """Ends the thread after what it computes."""
        if self._worker is not None:
            self._worker.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _work(self):
        loop = asyncio.get_running_loop()
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            while batch := self._next():
                self._on_batch(sum(len(job.inputs) for job in batch))
                await loop.run_in_executor(self._thread, self._compute, batch, loop)

    def _next(self):
        """Returns the oldest request, and those of the same key that fit into its batch."""
        self._jobs = [job for job in self._jobs if not job.is_over()]
        batch, rest, room = [], [], self._max_batch
        for job in self._jobs:
            if not batch or (job.key == batch[0].key and len(job.inputs) <= room):
                batch.append(job)
                room -= len(job.inputs)
            else:
                rest.append(job)
        self._jobs = rest
        return batch

    def _compute(self, batch, loop):
        def progress(count: int = 0) -> None:
            if all(job.is_over() for job in batch):
                raise ExpiredError

        try:
            outputs = [*batch[0].run([each for job in batch for each in job.inputs], progress)]
        except ExpiredError:
            return
        except Exception as error:  # Which of the requests it belongs to shows when they are run one by one.
            if len(batch) > 1:
                for job in batch:
                    self._compute([job], loop)
            else:
                loop.call_soon_threadsafe(_set, batch[0].future, None, error)
            return
        start = 0
        for job in batch:
            own = outputs[start : start + len(job.inputs)]
            start += len(job.inputs)
            loop.call_soon_threadsafe(_set, job.future, own, None)


def _set(future, value, error):
    if future.done():  # The request has expired.
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)
