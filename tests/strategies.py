"""One MirroredStrategy for all tests of a process, which can have no second: "joining a group with size4 ..."."""

import functools
import os
import pathlib
import subprocess
import sys

import tensorflow as tf

MirroredStrategy = tf.distribute.MirroredStrategy
REPLICAS = int(os.environ.get("TEST_REPLICAS", 2))


@functools.cache
def mirrored():
    """A strategy of REPLICAS logical CPUs; tests/conftest.py makes them."""
    return MirroredStrategy([f"CPU:{i}" for i in range(REPLICAS)])


class _Shared(type):
    def __call__(cls, devices=None):
        return mirrored()

    def __instancecheck__(cls, value):
        return isinstance(value, MirroredStrategy)


class SharedStrategy(metaclass=_Shared):
    """Stands for `MirroredStrategy` in code under test; makes the strategy of the process on any devices."""


def run_with_four_replicas(*files, tests):
    """Runs the quick tests of `files` that -k `tests` selects in a process where REPLICAS is 4; they must pass."""
    if REPLICAS == 4:
        return
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, "-k", tests, "-m", "not slow"]
    environment = {**os.environ, "TEST_REPLICAS": "4"}
    root = pathlib.Path(__file__).parents[1]
    result = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True)
    assert result.returncode == 0 and " passed" in result.stdout, result.stdout + result.stderr
