"""Speed of the devices of this machine, as the estimates of training runs need it."""

import os
import shutil
import time
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from zoo.training.devices import Device

_SIZE = 2048  # Rows and columns of the matrices.
_COPIED = 2**26  # Values.
_SECONDS = 1.0  # Of each measurement, at least.


def measure_device(dtype: str) -> Device:
    """Measures the first device in large products and copies, and all of them in sums, which only JAX has several of.

    Args:
        dtype: "float32" or "bfloat16", that of the products.
    """
    rng = np.random.default_rng(0)
    x = ops.cast(rng.normal(size=(_SIZE, _SIZE)).astype("float32"), dtype)
    values = ops.convert_to_tensor(np.ones(_COPIED, "float32"))
    products = 2 * _SIZE**3 / _seconds(ops.matmul, x, x)
    bandwidth = 8 * _COPIED / _seconds(lambda x: x + 1, values)
    return Device(_memory(), products, bandwidth, _link())


def _seconds(function: Callable, *arguments: Any) -> float:
    """Returns the least seconds of a compiled call."""
    call = _compiled(function)
    times, start = [], time.perf_counter()
    while len(times) < 4 or time.perf_counter() - start < _SECONDS:
        before = time.perf_counter()
        ops.convert_to_numpy(ops.ravel(call(*arguments))[:1])  # Waits.
        times.append(time.perf_counter() - before)
    return min(times[1:])


def _compiled(function):
    if keras.backend.backend() == "jax":
        import jax

        return jax.jit(function)
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.function(function)
    return function


def _link():
    """Returns the bytes a second that each device sends in a sum of all; infinite for one device."""
    if keras.backend.backend() != "jax":
        return float("inf")
    import jax
    from jax.sharding import NamedSharding, PartitionSpec

    devices = jax.devices()
    if len(devices) == 1:
        return float("inf")
    mesh = jax.sharding.Mesh(np.array(devices), ("devices",))
    parts = jax.device_put(
        np.ones((len(devices), _COPIED // 16), "float32"), NamedSharding(mesh, PartitionSpec("devices"))
    )
    total = jax.jit(lambda x: x.sum(0), out_shardings=NamedSharding(mesh, PartitionSpec()))
    call, times = total.lower(parts).compile(), []
    for _ in range(6):
        start = time.perf_counter()
        jax.block_until_ready(call(parts))
        times.append(time.perf_counter() - start)
    return 2 * (len(devices) - 1) / len(devices) * parts.nbytes / len(devices) / min(times[1:])


def _memory():
    """Returns the bytes of a device's memory."""
    if keras.backend.backend() == "jax":
        import jax

        statistics = jax.devices()[0].memory_stats()
        if statistics:
            return float(statistics["bytes_limit"])
    if shutil.which("nvidia-smi"):
        import subprocess

        query = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
        found = subprocess.run(query, capture_output=True, text=True)
        if found.returncode == 0 and found.stdout.strip():
            return 2**20 * float(found.stdout.split()[0])
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
