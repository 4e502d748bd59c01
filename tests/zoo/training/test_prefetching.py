"""Tests of examples that a thread makes."""

import threading
import time

import pytest

from zoo.training.prefetching import prefetched


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "prefetch"]


def test_all_examples_in_order_and_a_few_ahead():
    made = []
    stream = prefetched(made.append(i) or i for i in range(50))
    assert next(stream) == 0
    time.sleep(0.5)
    assert 4 <= len(made) <= 7
    assert [*stream] == [*range(1, 50)]


def test_an_error_comes_after_the_examples_before_it():
    def examples():
        yield 1
        raise ValueError("line 2")

    stream = prefetched(examples())
    assert next(stream) == 1
    with pytest.raises(ValueError, match="line 2"):
        next(stream)


def test_the_thread_ends_with_the_generator():
    before = len(threads())
    stream = prefetched(iter(int, 1))
    next(stream)
    assert len(threads()) == before + 1
    stream.close()
    time.sleep(0.5)
    assert len(threads()) == before
