"""Parallelism on JAX, by `keras.distribution`: of data on one or several machines, of models on one."""

import jax
import keras
import numpy as np
from jax.experimental import multihost_utils

from zoo.distribution.cluster import Cluster
from zoo.distribution.exiting import WorkerFailure
from zoo.distribution.mesh import MeshParallel
from zoo.distribution.workers import Workers


def set_parallel(cluster: Cluster | None = None, model_devices: int = 1) -> None:
    """Sets parallelism over all devices of this machine or, given a cluster, of all its machines.

    It applies to models that are built later. Call it before any computation.

    Args:
        cluster: The processes.
        model_devices: Number of devices that share each weight; see `zoo.distribution.mesh`. 1 for data parallelism.

    Raises:
        ValueError: If `model_devices` does not divide the number of devices, or is above 1 for several processes.
        WorkerFailure: If another process of the cluster cannot be reached.
    """
    if cluster is not None and model_devices > 1:
        raise ValueError(
            "A model is divided among the devices of one machine. Received: --strategy workers with "
            f"--model-devices {model_devices}. Use --strategy mirrored."
        )
    if cluster is not None:
        try:
            keras.distribution.initialize(",".join(cluster.addresses), len(cluster.addresses), cluster.index)
        except RuntimeError as error:
            raise WorkerFailure(
                f"Worker {cluster.index} could not connect to the others. Start each of them at its address in "
                f"TF_CONFIG, and check that the machines can resolve and reach each other by name. Received: {error}"
            ) from error
    devices = keras.distribution.list_devices()
    if cluster is None:  # With the moments of Adam divided, too.
        distribution = MeshParallel(devices, model_devices)
    else:
        distribution = keras.distribution.DataParallel(devices=devices, auto_shard_dataset=False)
    keras.distribution.set_distribution(distribution)


def jax_workers() -> Workers:
    """Returns the processes on whose devices Keras distributes batches."""
    distribution = keras.distribution.distribution()
    several = isinstance(distribution, MeshParallel)
    devices = distribution.num_model_replicas if several else distribution.device_mesh.devices.size
    return Workers(jax.process_index(), jax.process_count(), devices // jax.process_count(), _total)


def _total(values):
    return np.asarray(multihost_utils.process_allgather(values)).sum(0, dtype="int32")
