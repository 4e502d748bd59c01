"""Graph functions called by several threads."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from zoo.tf.graphs import graph_function


def test_threads_that_call_at_once_share_one_graph():
    traced, start = [], threading.Barrier(8, timeout=20)

    def double(values):
        traced.append(threading.get_ident())
        time.sleep(0.05)  # Lets the other threads call meanwhile.
        return values * 2

    call = graph_function(double)

    def client(number):
        start.wait()
        return [call(np.full(length, number)).numpy().tolist() for length in (1, 3)]

    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(client, range(8))]
    assert answers == [[[2 * n], [2 * n] * 3] for n in range(8)]
    assert len(traced) == 1
    assert call(np.ones((2, 2))).shape == (2, 2) and len(traced) == 2  # Another rank, another graph.
