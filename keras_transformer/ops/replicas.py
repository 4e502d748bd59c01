"""Replicas of a `tf.distribute` strategy: their number, sums over them, and whether they span processes."""

from typing import Any

import keras


def num_replicas() -> int:
    """Returns the number of replicas that run this step together: those of a `tf.distribute` strategy, else 1.

    On JAX a distributed array is one array, so there is one replica.
    """
    context = _context()
    return context.num_replicas_in_sync if context else 1


def sum_over_replicas(value: Any) -> Any:
    """Returns the sum of `value` over the replicas, on each of them; `value` itself if there is one replica."""
    if num_replicas() == 1:
        return value
    return _context().all_reduce("sum", value)


def strategy_of(model: keras.Model) -> Any:
    """Returns the `tf.distribute` strategy in whose scope a model was made; None if there was none."""
    import tensorflow as tf

    strategy = model.distribute_strategy
    return strategy if isinstance(strategy, tf.distribute.Strategy) else None  # TensorFlow's default is not one.


def spans_processes(strategy: Any) -> bool:
    """Returns whether a `tf.distribute` strategy trains in several processes."""
    import tensorflow as tf

    return isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)


def _context():
    if keras.backend.backend() != "tensorflow":
        return None
    import tensorflow as tf  # Keras has no public function for this.

    return tf.distribute.get_replica_context()
