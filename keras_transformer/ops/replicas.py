"""Sums over the replicas of a model that train together."""

from typing import Any

import keras


def num_replicas() -> int:
    """Copies of the model that run this step together: those of a `tf.distribute` strategy, else 1.

    On JAX a distributed array is one array, so that there is but one replica.
    """
    context = _context()
    return context.num_replicas_in_sync if context else 1


def sum_over_replicas(value: Any) -> Any:
    """The sum of `value` over the replicas, on each of them; `value` itself if there is but one."""
    if num_replicas() == 1:
        return value
    return _context().all_reduce("sum", value)


def spans_processes(strategy: Any) -> bool:
    """Whether a `tf.distribute` strategy makes several processes train together."""
    import tensorflow as tf

    return isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)


def _context():
    if keras.backend.backend() != "tensorflow":
        return None
    import tensorflow as tf  # Keras has no public function for this.

    return tf.distribute.get_replica_context()
