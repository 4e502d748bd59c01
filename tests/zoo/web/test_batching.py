"""Requests of the same key are computed together, in their order, and fail alone."""

import asyncio
import threading
import time

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed")
from zoo.web.batching import Batcher, ExpiredError


def run(work, max_batch=4, max_seconds=20.0):
    """Runs `work(batcher, sizes)`; returns what it returns, and the sizes of the batches."""

    async def main():
        sizes = []
        batcher = Batcher(max_batch, max_seconds, sizes.append)
        try:
            return await work(batcher), sizes
        finally:
            await batcher.close()

    return asyncio.run(main())


class Model:
    """Doubles numbers once it is let go; keeps what it is given."""

    def __init__(self):
        self.go, self.given = threading.Event(), []

    def __call__(self, inputs, progress):
        self.given.append(list(inputs))
        self.go.wait(10)
        if "wrong" in inputs:
            raise ValueError("wrong")
        return [2 * each for each in inputs]


async def together(batcher, model, requests):
    """Sends requests (key, inputs) while the model is busy with a first one; returns their results or errors."""
    first = asyncio.create_task(batcher.run("first", model, [0]))
    while not model.given:
        await asyncio.sleep(0.001)
    others = [asyncio.create_task(batcher.run(key, model, inputs)) for key, inputs in requests]
    await asyncio.sleep(0.01)
    model.go.set()
    return await asyncio.gather(first, *others, return_exceptions=True)


def test_joined_by_key_up_to_the_limit():
    model = Model()
    requests = [("a", [1, 2]), ("b", [3]), ("a", [4]), ("a", [5, 6]), ("a", [7]), ("b", [8] * 6)]
    found, sizes = run(lambda batcher: together(batcher, model, requests))
    assert found == [[0], [2, 4], [6], [8], [10, 12], [14], [16] * 6]
    assert model.given == [[0], [1, 2, 4, 7], [3], [5, 6], [8] * 6], "the oldest first; more than the limit alone"
    assert sizes == [1, 4, 1, 2, 6]


def test_errors_are_those_of_one_request():
    model = Model()
    found, _ = run(lambda batcher: together(batcher, model, [("a", [1]), ("a", ["wrong"]), ("a", [2])]))
    assert found[1] == [2] and found[3] == [4] and str(found[2]) == "wrong"


def test_requests_that_were_given_up_are_not_computed():
    model = Model()

    async def work(batcher):
        first = asyncio.create_task(batcher.run("first", model, [0]))
        while not model.given:
            await asyncio.sleep(0.001)
        waiting = asyncio.create_task(batcher.run("b", model, [2]))
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.sleep(0.01)
        model.go.set()
        return await first, await batcher.run("c", model, [5])

    assert run(work) == (([0], [10]), [1, 1]) and model.given == [[0], [5]]


def test_requests_expire_and_are_not_computed():
    model, raised = Model(), []

    def slow(inputs, progress):
        model.given.append(inputs)
        try:
            while True:
                time.sleep(0.01)
                progress()
        except ExpiredError:
            raised.append(True)
            raise

    async def work(batcher):
        one = asyncio.create_task(batcher.run("a", slow, [1]))
        await asyncio.sleep(0.05)
        other = asyncio.create_task(batcher.run("b", slow, [2]))
        found = await asyncio.gather(one, other, return_exceptions=True)
        model.go.set()
        return found, await batcher.run("c", model, [5])

    (found, after), sizes = run(work, max_seconds=0.3)
    assert [type(each) for each in found] == [ExpiredError, ExpiredError] and after == [10]
    assert raised and model.given[0] == [1] and model.given[-1] == [5]
    assert len(sizes) == len(model.given)
