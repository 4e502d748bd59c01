"""Tests of background compilation with functions and a clock that are given."""

import concurrent.futures

import numpy as np
import pytest

from zoo.models.auto_compile import AutoCompiled


class Machine:
    """A clock that only functions advance, and a background that runs when asked."""

    def __init__(self, plain_seconds=1.0, compile_seconds=5.0, compiled_seconds=0.1, max_shapes=16):
        self.now, self.waiting, self.calls, self.known = 0.0, [], [], set()
        self.plain_seconds, self.compile_seconds, self.compiled_seconds = (
            plain_seconds,
            compile_seconds,
            compiled_seconds,
        )
        self.function = AutoCompiled(
            self.plain, self.compiled, self.pad, max_shapes, 3.0, self.waiting.append, lambda: self.now
        )

    @staticmethod
    def pad(x):
        return (np.pad(x, (0, -len(x) % 4)),)

    def plain(self, x):
        self.calls.append(("plain", len(x)))
        self.now += self.plain_seconds * len(x)
        return x + 1

    def compiled(self, x):
        self.calls.append(("compiled", len(x)))
        self.now += self.compiled_seconds if len(x) in self.known else self.compile_seconds
        self.known.add(len(x))
        return x + 1

    def call(self, size, times=1):
        for _ in range(times):
            found = self.function(np.arange(size))
            assert found[:size].tolist() == list(range(1, size + 1))
        return self.calls[-1]

    def run_background(self):
        while self.waiting:
            self.waiting.pop(0)()


def test_few_calls_compile_nothing():
    machine = Machine()
    machine.call(1, times=3)  # The first may trace; the others take 2 of 3 seconds.
    assert not machine.waiting


def test_a_shape_that_repeats_is_compiled_once_in_the_background():
    machine = Machine()
    assert machine.call(1, times=6) == ("plain", 1)
    assert len(machine.waiting) == 1
    machine.run_background()
    assert machine.call(1) == ("compiled", 4)
    assert machine.call(4) == ("compiled", 4), "the same shape after padding"
    assert machine.call(5) == ("plain", 5), "another one"


def test_a_compiled_function_that_is_slower_is_not_used():
    machine = Machine(compiled_seconds=2.5)
    machine.call(1, times=6)
    machine.run_background()
    assert machine.call(1) == ("plain", 1)
    assert machine.call(3) == ("compiled", 4), "for three elements the plain function takes longer"
    assert not machine.waiting, "compiled once only"


def test_averages_count_and_not_the_fastest_call():
    machine = Machine(compiled_seconds=0.8)
    machine.call(1, times=4)
    machine.plain_seconds = 0.1  # A single fast call, as of a sentence that ends early.
    machine.call(1)
    machine.plain_seconds = 1.0
    machine.call(1)
    machine.run_background()
    assert machine.call(1) == ("compiled", 4)


def test_a_compiled_function_that_becomes_slower_is_given_up():
    machine = Machine()
    machine.call(1, times=6)
    machine.run_background()
    machine.compiled_seconds = 5.0
    machine.call(1, times=5)
    assert machine.call(1) == ("plain", 1)


def test_the_time_of_a_compilation_is_learned():
    machine = Machine(compile_seconds=8.0)
    machine.call(1, times=6)
    machine.run_background()
    machine.call(5, times=2)
    assert not machine.waiting, "5 of now 8 seconds"
    machine.call(5)
    assert machine.waiting


def test_shapes_are_limited():
    machine = Machine(max_shapes=2)
    for size in (4, 8, 12, 16):
        machine.call(size, times=4)
    assert len(machine.waiting) == 2


def test_errors_of_the_compilation_leave_the_plain_function():
    machine = Machine()
    machine.call(1, times=6)
    machine.function._compiled = None
    machine.run_background()
    assert machine.call(1) == ("plain", 1) and not machine.waiting


def test_warm_up_compiles_at_once():
    machine = Machine(compiled_seconds=2.5)
    machine.function.warm_up(np.arange(3))
    assert machine.call(1) == ("compiled", 4), "as requested, even if it is slower"


def test_errors_of_warm_up_are_raised():
    machine = Machine()
    machine.function._compiled = None
    with pytest.raises(TypeError):
        machine.function.warm_up(np.arange(3))


def test_threads_get_their_own_results():
    function = AutoCompiled(lambda x: x + 1, lambda x: x + 1, lambda x: (x,), compile_seconds=0.0)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda size: len(function(np.zeros(size % 7 + 1))), range(500)))
    assert found == [size % 7 + 1 for size in range(500)]
