"""Training on all devices of a machine or of several, by `keras.distribution.DataParallel`."""

import jax
import keras
import numpy as np
from jax.experimental import multihost_utils

from zoo.distribution.cluster import Cluster
from zoo.distribution.leaving import LostWorkers
from zoo.distribution.workers import Workers


def distribute(cluster: Cluster | None = None) -> None:
    """Makes models made later train on all devices of this machine, or of all those of a cluster, this one included.

    To be called before anything is computed.

    Raises:
        LostWorkers: If another process of the cluster cannot be reached.
    """
    if cluster is not None:
        try:
            keras.distribution.initialize(",".join(cluster.addresses), len(cluster.addresses), cluster.index)
        except RuntimeError as error:
            raise LostWorkers(
                f"Worker {cluster.index} did not find the others. Each must run, at the address that TF_CONFIG gives "
                f"it, and the name of each machine must be that of an address that the others reach. Received: {error}"
            ) from error
    devices = keras.distribution.list_devices()
    keras.distribution.set_distribution(keras.distribution.DataParallel(devices=devices, auto_shard_dataset=False))


def jax_workers() -> Workers:
    """The processes among whose devices Keras distributes batches."""
    devices = keras.distribution.distribution().device_mesh.devices.size
    return Workers(jax.process_index(), jax.process_count(), devices // jax.process_count(), _total)


def _total(values):
    return np.asarray(multihost_utils.process_allgather(values)).sum(0, dtype="int32")
