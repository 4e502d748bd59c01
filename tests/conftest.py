"""Several logical devices, so that strategies can be tested on one CPU, and less waiting."""

import gc
import os

import keras
from no_skips import pytest_make_collect_report, pytest_runtest_makereport  # noqa: F401 (hooks)

os.environ.setdefault("KERAS_TRANSFORMER_XLA_CACHE", "0")  # Tests compile as on a new machine.

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 4)

    # Graphs of tests run a few times only, so optimising them takes longer than it saves. Processes that tests start,
    # as those of examples and of exported models, have it.
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})

    # The end of an iterator waits up to a minute for the thread that tunes its dataset; Keras makes one in each `fit`.
    _untuned, _iterate = tf.data.Options(), tf.data.Dataset.__iter__
    _untuned.autotune.enabled = False
    tf.data.Dataset.__iter__ = lambda dataset: _iterate(dataset.with_options(_untuned))


def pytest_collection_finish():
    """Takes what was imported out of all later searches for garbage, which tracing would start thousands of times."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)
