"""Weights of `keras.layers.MultiHeadAttention` and of our layer, in pairs."""

from collections.abc import Iterator
from typing import Any

import keras

_PROJECTIONS = {  # Of Keras's layer and of ours.
    "query": "query_dense",
    "key": "key_dense",
    "gate": "gate_dense",
    "value": "value_dense",
    "attention_output": "output_dense",
}


def build_like(layer: keras.layers.Layer, other: keras.layers.Layer) -> None:
    """Builds `layer` for the shapes that the built attention layer `other` was built for."""
    config = other.get_build_config()
    shapes = config.get("shapes_dict") or {"query_shape": config["input_shape"]}
    shapes = {name: shape for name, shape in shapes.items() if shape is not None}
    layer.build(**{"value_shape": shapes["query_shape"], **shapes})


def paired_weights(theirs: keras.layers.MultiHeadAttention, ours: keras.layers.Layer) -> Iterator[tuple[Any, Any]]:
    """Yields each weight of Keras's layer with ours, which holds the same numbers in another shape.

    Raises:
        ValueError: If one of them has other weights than projections have, such as those of LoRA or quantization.
    """
    own = {"/".join(weight.path.split("/")[-2:]): weight for weight in ours.weights if "seed" not in weight.path}
    found = [weight for weight in theirs.weights if "seed" not in weight.path]
    names = [weight.path.split("/")[-2:] for weight in found]
    translated = [f"{_PROJECTIONS.get(layer)}/{name}" for layer, name in names]
    if sorted(translated) != sorted(own):
        raise ValueError(
            "Only kernels and biases can be converted. "
            f"Received: {['/'.join(name) for name in names]} and {sorted(own)}. Merge LoRA or quantized weights first."
        )
    yield from ((weight, own[name]) for weight, name in zip(found, translated))
