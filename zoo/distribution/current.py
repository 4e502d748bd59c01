"""The processes that train together under the strategy or the distribution that is set now."""

from typing import Any

import keras

from zoo.distribution.workers import ALONE, Workers


def workers_of(strategy: Any = None) -> Workers:
    """Those that a `tf.distribute` strategy or, on JAX, the distribution set in Keras makes train together."""
    backend = keras.backend.backend()
    if backend == "tensorflow" and strategy is not None:
        from zoo.distribution.on_tensorflow import strategy_workers

        return strategy_workers(strategy)
    if backend == "jax" and keras.distribution.distribution() is not None:
        from zoo.distribution.on_jax import jax_workers

        return jax_workers()
    return ALONE
