"""Processes of the current strategy or distribution."""

from typing import Any

import keras

from zoo.distribution.workers import SINGLE_PROCESS, Workers


def current_workers(strategy: Any = None) -> Workers:
    """Returns the processes of a `tf.distribute` strategy or, on JAX, of the distribution set in Keras."""
    backend = keras.backend.backend()
    if backend == "tensorflow" and strategy is not None:
        from zoo.distribution.on_tensorflow import strategy_workers

        return strategy_workers(strategy)
    if backend == "jax" and keras.distribution.distribution() is not None:
        from zoo.distribution.on_jax import jax_workers

        return jax_workers()
    return SINGLE_PROCESS
