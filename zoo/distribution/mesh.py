"""Model parallelism on JAX: each weight is divided among some devices, and each batch among groups of them."""

import itertools
import re

import keras
import numpy as np

DATA, MODEL = "data", "model"

# Axes of the weights of all model families, by the ends of their paths: each attention head, and each unit of a
# feed-forward network, is on one device of a group, so that a block exchanges sums only behind its output products
# (Shoeybi et al. 2019, section 3). Of an embedding, each device has a part of the vocabulary.
_LAYOUTS = {
    r"(.*/)?embedding/embeddings": (MODEL, None),
    r".*/(query|key|value)_dense/kernel": (None, MODEL),
    r".*/(query|key|value)_dense/bias": (MODEL,),
    r".*attention/output_dense/kernel": (MODEL, None),
    r".*/feed_forward/(inner|gate)_dense/kernel": (None, MODEL),
    r".*/feed_forward/(inner|gate)_dense/bias": (MODEL,),
    r".*/feed_forward/output_dense/kernel": (MODEL, None),
}


def parts_of_weight(path: str, shape: tuple[int, ...], model_devices: int) -> int:
    """Returns into how many parts `model_devices` devices divide a weight."""
    axes = next((axes for pattern, axes in _LAYOUTS.items() if re.fullmatch(pattern, path)), ())
    return (
        model_devices if all(size % model_devices == 0 for axis, size in zip(axes, shape) if axis) and any(axes) else 1
    )


def parts_of_moments(path: str, shape: tuple[int, ...], replicas: int, model_devices: int) -> int:
    """Returns into how many parts a mesh divides the moments of a weight; see `shard_optimizer`."""
    parts = parts_of_weight(path, shape, model_devices)
    axes = next((axes for pattern, axes in _LAYOUTS.items() if re.fullmatch(pattern, path)), ()) if parts > 1 else ()
    free = [size for axis, size in itertools.zip_longest(axes, shape) if axis is None and size % replicas == 0]
    return parts * (replicas if free else 1)


class MeshParallel(keras.distribution.ModelParallel):
    """Distribution of a model over a mesh of devices, for all model families.

    Weights that no rule names, or whose axis the devices of a group do not divide, are on each device as a whole.

    Args:
        devices: Names of the devices.
        model_devices: Number of devices that share each weight. The others are further replicas, which share the
            batches.

    Raises:
        ValueError: If `model_devices` does not divide the number of devices.
    """

    def __init__(self, devices: list[str], model_devices: int):
        if model_devices < 1 or len(devices) % model_devices:
            raise ValueError(
                f"`model_devices` must divide the number of devices, {len(devices)}. Received: {model_devices}."
            )
        shape = len(devices) // model_devices, model_devices
        mesh = keras.distribution.DeviceMesh(shape, [DATA, MODEL], np.array(devices).reshape(shape))
        layouts = keras.distribution.LayoutMap(mesh)
        layouts.update(_LAYOUTS)
        super().__init__(layout_map=layouts, batch_dim_name=DATA, auto_shard_dataset=False)

    def get_variable_layout(self, variable):
        layout = super().get_variable_layout(variable)
        sizes = dict(zip(self.device_mesh.axis_names, self.device_mesh.shape))
        divides = all(axis is None or size % sizes[axis] == 0 for axis, size in zip(layout.axes, variable.shape))
        return layout if divides else keras.distribution.TensorLayout([None] * len(variable.shape), self.device_mesh)


def shard_optimizer(optimizer: keras.optimizers.Optimizer) -> None:
    """Divides the variables of a built optimizer among the replicas, too (Rajbhandari et al. 2020, stage 1).

    Each replica then updates its part of the weights and sends it to the others. Without a `MeshParallel`
    distribution, nothing changes.
    """
    distribution = keras.distribution.distribution()
    if not isinstance(distribution, MeshParallel):
        return
    mesh, replicas = distribution.device_mesh, distribution.num_model_replicas
    for variable in optimizer.variables:
        axes = [*distribution.get_variable_layout(variable).axes]
        free = [i for i, (axis, size) in enumerate(zip(axes, variable.shape)) if axis is None and size % replicas == 0]
        if free:
            axes[max(free, key=lambda i: variable.shape[i])] = DATA
            variable._layout = keras.distribution.TensorLayout(axes, mesh)
            variable.assign(np.asarray(variable))


def bytes_per_device(variables: list) -> dict[str, int]:
    """Returns the bytes of variables on each device of the JAX backend, by its name."""
    found: dict[str, int] = {}
    for variable in variables:
        for shard in variable.value.addressable_shards:
            found[str(shard.device)] = found.get(str(shard.device), 0) + shard.data.nbytes
    return found
