"""Checks of a machine before training or serving: versions, devices, communication between devices, disk, data."""

import contextlib
import importlib.metadata
import itertools
import os
import pathlib
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import zoo
from zoo.extras import install_command
from zoo.quiet import quiet_start

LEAST_FREE = 5e9  # Bytes; a training run of `base` with its checkpoints takes about half of that.
OPTIONAL = {
    "sacrebleu": "training and evaluating translators needs it",
    "tensorboard": "curves of training runs need it",
    "nltk": "parsing needs it",
    "matplotlib": "drawing needs it",
    "tensorflow-datasets": "corpora named tfds:NAME need it",
}
_ADVICE = "Machines whose GPUs cannot copy to each other train with --cross-device-ops one-device."
_SECONDS = 300  # Time limit for one pair of devices.


class Result(NamedTuple):
    """Result of a check.

    Args:
        name: What was checked.
        passed: Whether the check passed; None if it is unknown, or the thing is optional.
        detail: What was found.
        skipped: Whether the check was left out, as something that it needs is missing.
    """

    name: str
    passed: bool | None
    detail: str
    skipped: bool = False


def examine(progress: Callable[[str], None] = lambda what: None) -> Iterator[Result]:
    """Yields the results of all checks; `progress` is called with the names of the slow ones before they start."""
    yield Result("Python", sys.version_info >= (3, 11), f"{platform.python_version()}, {platform.platform()}")
    for package in ("tensorflow", "keras", "numpy", "filelock", "rich", "safetensors", "sentencepiece"):
        found = _version(package)
        yield Result(package, found is not None, found or f"not installed: {install_command(package)}")
    conflict = zoo.name_conflict()
    yield Result("import name keras_transformer", not conflict, conflict or "no other distribution claims it")
    yield _tensorflow_text(_version("tensorflow"), _version("tensorflow-text"))
    for package, purpose in OPTIONAL.items():
        found = _version(package)
        yield Result(package, found and True, found or f"not installed; {purpose}: {install_command(package)}")
    progress("devices")
    with quiet_start():
        from zoo.distribution import on_tensorflow
    graphics = on_tensorflow.gpu_names()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield Result("devices", None if not graphics else True, f"{len(graphics) or 'no'} GPU, {cores} CPU cores")
    devices = graphics if len(graphics) > 1 else ["CPU:0", "CPU:1"]
    for pair in itertools.combinations(devices, 2):
        progress(f"all-reduce of {' and '.join(pair)}")
        yield all_reduce(pair)
    for place in dict.fromkeys([pathlib.Path.cwd(), pathlib.Path(os.environ.get("TMPDIR", "/tmp"))]):
        free = shutil.disk_usage(place).free if place.exists() else 0
        yield Result(f"disk, {place}", free >= LEAST_FREE, f"{free / 1e9:.1f} GB free")
    yield _data(os.environ.get("KERAS_TRANSFORMER_DATA"))


def all_reduce(devices: tuple[str, ...]) -> Result:
    """Checks in a separate process that devices compute the correct sum of a known vector."""
    command = [sys.executable, "-m", "zoo.tf.self_test", *devices]
    name = f"all-reduce, {' and '.join(devices)}"
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return Result(name, False, f"no answer in {_SECONDS} s. {_ADVICE}")
    if result.returncode == 0 and result.stdout.splitlines()[-1:] == ["right"]:
        return Result(name, True, "the sum is right on each")
    return Result(name, False, f"{(result.stderr.strip().splitlines() or ['it was killed'])[-1]} {_ADVICE}")


def _tensorflow_text(tensorflow, text):
    if text is None:
        advice = f"not installed; exports that take text need it: {install_command('tensorflow_text')}"
        return Result("tensorflow-text", None, advice)
    fits = tensorflow is not None and tensorflow.split(".")[:2] == text.split(".")[:2]
    return Result("tensorflow-text", fits, text if fits else f"{text} does not fit TensorFlow {tensorflow}")


def _data(folder):
    if not folder:
        return Result("corpora", None, "KERAS_TRANSFORMER_DATA is not set; tests that need corpora skip")
    path = pathlib.Path(folder)
    if not path.is_dir():
        return Result("corpora", False, f"KERAS_TRANSFORMER_DATA names no folder: {folder}")
    return Result("corpora", True, ", ".join(sorted(entry.name for entry in path.iterdir() if entry.is_dir())))


def _version(package):
    for variant in ("", "-cpu", "-intel", "-rocm"):  # Of tensorflow.
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(package + variant)
    return None
