"""One MirroredStrategy for all tests of a process, which can have no second: "joining a group with size4 ..."."""

import functools
import os
import pathlib
import subprocess
import sys

import tensorflow as tf

REPLICAS = int(os.environ.get("TEST_REPLICAS", 2))


@functools.cache
def mirrored():
    """A strategy of REPLICAS logical CPUs; tests/conftest.py makes them."""
    return tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(REPLICAS)])


def run_with_four_replicas(*files, tests):
    """Runs the quick tests of `files` that -k `tests` selects in a process where REPLICAS is 4; they must pass."""
    if REPLICAS == 4:
        return
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, "-k", tests, "-m", "not slow"]
    environment = {**os.environ, "TEST_REPLICAS": "4"}
    root = pathlib.Path(__file__).parents[1]
    result = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True)
    assert result.returncode == 0 and " passed" in result.stdout, result.stdout + result.stderr
