"""Weight conversion between `keras.layers.MultiHeadAttention` and this package's layer."""

import inspect
from typing import Any

import keras
from keras import ops

_PROJECTIONS = {  # Keras's names to this package's.
    "query": "query_dense",
    "key": "key_dense",
    "gate": "gate_dense",
    "value": "value_dense",
    "attention_output": "output_dense",
}


def keras_config(config: dict[str, Any]) -> dict[str, Any]:
    """Returns the configuration of `keras.layers.MultiHeadAttention` for one of this package's layer.

    Raises:
        ValueError: If it has an option that the installed Keras does not have; some are new in Keras 3.15.
    """
    config = {**config}
    del config["flash_attention"]  # Another way to the same outputs, which Keras does not offer everywhere.
    known = inspect.signature(keras.layers.MultiHeadAttention).parameters
    for name in ("sliding_window", "use_gate"):
        if name not in known and config.pop(name):
            raise ValueError(
                f"`keras.layers.MultiHeadAttention` of Keras {keras.__version__} has no `{name}`. Received: a layer "
                "with it. Upgrade Keras to 3.15."
            )
    return config


def copy_weights(source: keras.layers.Layer, target: keras.layers.Layer) -> keras.layers.Layer:
    """Builds `target` for the shapes of `source` and copies kernels and biases to it, if `source` is built.

    One of them is Keras's layer, the other this package's. Returns `target`.

    Raises:
        ValueError: If `source` has other weights than kernels and biases, such as those of LoRA or quantization.
    """
    if not source.built:
        return target
    config = source.get_build_config()
    shapes = config.get("shapes_dict") or {"query_shape": config["input_shape"]}
    shapes = {name: shape for name, shape in shapes.items() if shape is not None}
    target.build(**{"value_shape": shapes["query_shape"], **shapes})
    found, wanted = _by_name(source), _by_name(target)
    if found.keys() != wanted.keys():
        raise ValueError(
            "Only kernels and biases can be converted. "
            f"Received: {sorted(found)}. Merge weights of LoRA or quantization first."
        )
    for name, weight in wanted.items():
        weight.assign(ops.reshape(found[name], weight.shape))
    return target


def _by_name(layer):
    """Returns weights by this package's names: "query_dense/kernel"."""
    paths = [(weight.path.split("/")[-2:], weight) for weight in layer.weights]
    return {f"{_PROJECTIONS.get(owner, owner)}/{name}": w for (owner, name), w in paths if "seed" not in w.path}
