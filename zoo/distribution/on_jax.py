"""Data parallelism on JAX, on one or several machines, by `keras.distribution.DataParallel`."""

import jax
import keras
import numpy as np
from jax.experimental import multihost_utils

from zoo.distribution.cluster import Cluster
from zoo.distribution.exiting import WorkerFailure
from zoo.distribution.workers import Workers


def set_data_parallel(cluster: Cluster | None = None) -> None:
    """Sets data parallelism over all devices of this machine or, given a cluster, of all its machines.

    It applies to models that are built later. Call it before any computation.

    Raises:
        WorkerFailure: If another process of the cluster cannot be reached.
    """
    if cluster is not None:
        try:
            keras.distribution.initialize(",".join(cluster.addresses), len(cluster.addresses), cluster.index)
        except RuntimeError as error:
            raise WorkerFailure(
                f"Worker {cluster.index} could not connect to the others. Start each of them at its address in "
                f"TF_CONFIG, and check that the machines can resolve and reach each other by name. Received: {error}"
            ) from error
    devices = keras.distribution.list_devices()
    keras.distribution.set_distribution(keras.distribution.DataParallel(devices=devices, auto_shard_dataset=False))


def jax_workers() -> Workers:
    """Returns the processes on whose devices Keras distributes batches."""
    devices = keras.distribution.distribution().device_mesh.devices.size
    return Workers(jax.process_index(), jax.process_count(), devices // jax.process_count(), _total)


def _total(values):
    return np.asarray(multihost_utils.process_allgather(values)).sum(0, dtype="int32")
