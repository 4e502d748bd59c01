"""Training on all devices of a machine, or of several."""

from collections.abc import Iterable

import numpy as np
import tensorflow as tf

from zoo.distribution.cluster import read_cluster
from zoo.distribution.workers import Workers
from zoo.tf.pipeline import training_dataset


def mirrored_strategy() -> tf.distribute.Strategy:
    """One replica on each GPU that TensorFlow sees, or on each logical CPU if there is none; one device works too."""
    return tf.distribute.MirroredStrategy()


def multi_worker_strategy() -> tf.distribute.Strategy:
    """One replica on each device of the processes that `TF_CONFIG` names; to be called before anything is computed.

    Raises:
        ValueError: If `TF_CONFIG` is not what it should be.
    """
    read_cluster()
    return tf.distribute.MultiWorkerMirroredStrategy()


def graphics_cards() -> list[str]:
    """The GPUs that TensorFlow sees, as `GPU:0`."""
    return [f"GPU:{number}" for number in range(len(tf.config.list_physical_devices("GPU")))]


def strategy_workers(strategy: tf.distribute.Strategy) -> Workers:
    """The processes that a strategy makes train together."""
    if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return Workers(devices=strategy.num_replicas_in_sync)
    cluster = read_cluster()
    count = len(cluster.addresses)
    devices = strategy.num_replicas_in_sync // count

    def total(values):
        def of_device(context):  # A process has one value, whatever the number of its devices.
            own = context.replica_id_in_sync_group % devices == 0
            return tf.constant(values if own else np.zeros_like(values))

        return strategy.reduce("SUM", strategy.experimental_distribute_values_from_function(of_device), None).numpy()

    return Workers(cluster.index, count, devices, total)


def distributed_dataset(strategy: tf.distribute.Strategy, examples: Iterable) -> tf.distribute.DistributedDataset:
    """Examples for the devices of this process, one after another, as the input of `fit` under a strategy."""
    return strategy.distribute_datasets_from_function(lambda context: training_dataset(examples))
