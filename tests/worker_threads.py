"""Workers that are threads, for tests of what several processes agree on."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from zoo.distribution.workers import Workers


def together(count, run, devices=1):
    """Calls `run(workers)` on `count` workers concurrently and returns their results or errors."""
    barrier, sums = threading.Barrier(count, timeout=20), {}

    def total_of(index):
        def total(values):
            sums[index] = np.array(values)
            barrier.wait()
            result = sum(sums[i] for i in range(count)).astype("int32")
            barrier.wait()
            return result

        return total

    def one(index):
        try:
            return run(Workers(index, count, devices, total_of(index)))
        except ValueError as error:
            return error

    with ThreadPoolExecutor(count) as pool:
        return [*pool.map(one, range(count))]
