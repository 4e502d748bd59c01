"""Data parallelism on TensorFlow, on one or several machines, by `tf.distribute`."""

from collections.abc import Iterable

import numpy as np
import tensorflow as tf

from zoo.distribution.cluster import read_cluster
from zoo.distribution.workers import Workers
from zoo.tf.pipeline import training_dataset

CROSS_DEVICE_OPS = {
    "nccl": tf.distribute.NcclAllReduce,
    "hierarchical": tf.distribute.HierarchicalCopyAllReduce,
    "one-device": tf.distribute.ReductionToOneDevice,  # Needs no copies between all pairs of GPUs.
}


def mirrored_strategy(cross_device_ops: str | None = None) -> tf.distribute.Strategy:
    """Creates a strategy with one replica on each GPU, or on each logical CPU if there is no GPU.

    Args:
        cross_device_ops: How the replicas add their gradients: a key of `CROSS_DEVICE_OPS`; TensorFlow's choice by
            default.
    """
    operations = None if cross_device_ops is None else CROSS_DEVICE_OPS[cross_device_ops]()
    return tf.distribute.MirroredStrategy(cross_device_ops=operations)


def multi_worker_strategy() -> tf.distribute.Strategy:
    """Creates a strategy with one replica on each device of the processes in `TF_CONFIG`.

    Call it before any computation.

    Raises:
        ValueError: If `TF_CONFIG` is not set or invalid.
    """
    read_cluster()
    return tf.distribute.MultiWorkerMirroredStrategy()


def gpu_names() -> list[str]:
    """Returns the names of the GPUs that TensorFlow finds, such as `GPU:0`."""
    return [f"GPU:{number}" for number in range(len(tf.config.list_physical_devices("GPU")))]


def strategy_workers(strategy: tf.distribute.Strategy) -> Workers:
    """Returns the processes of a strategy."""
    if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return Workers(devices=strategy.num_replicas_in_sync)
    cluster = read_cluster()
    count = len(cluster.addresses)
    devices = strategy.num_replicas_in_sync // count

    def total(values):
        def device_value(context):  # Only the first device of each process contributes.
            own = context.replica_id_in_sync_group % devices == 0
            return tf.constant(values if own else np.zeros_like(values))

        return strategy.reduce("SUM", strategy.experimental_distribute_values_from_function(device_value), None).numpy()

    return Workers(cluster.index, count, devices, total)


def distributed_dataset(strategy: tf.distribute.Strategy, examples: Iterable) -> tf.distribute.DistributedDataset:
    """Wraps examples, in turn for each device of this process, as the input of `fit` under a strategy."""
    return strategy.distribute_datasets_from_function(lambda context: training_dataset(examples))
