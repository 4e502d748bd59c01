"""Projections of an attention layer and their options."""

from typing import Any

import keras

from keras_transformer.layers.dense import Dense

_KINDS = {
    "initializer": keras.initializers,
    "regularizer": keras.regularizers,
    "constraint": keras.constraints,
}


class ProjectionOptions:
    """Keyword arguments of `keras.layers.Dense` that all projections of a layer share.

    Args:
        use_bias: Whether the projections have biases.
        objects: Initializers, regularizers and constraints by keyword of `Dense`: names, configurations or objects.
    """

    def __init__(self, use_bias: bool, **objects):
        self.use_bias = use_bias
        self._objects = {name: _module(name).get(value) for name, value in objects.items()}

    def dense(self, units: int, name: str, dtype: Any, **keywords) -> Dense:
        """Returns a projection to `units`, with initial weights drawn independently of the others."""
        own = {k: v.clone() if isinstance(v, keras.Initializer) else v for k, v in self._objects.items()}
        return Dense(units, use_bias=self.use_bias, dtype=dtype, name=name, **own, **keywords)

    def get_config(self) -> dict[str, Any]:
        """Returns the keyword arguments as a layer's `get_config` does."""
        objects = {name: _module(name).serialize(value) for name, value in self._objects.items()}
        return {"use_bias": self.use_bias, **objects}


def _module(name):
    return _KINDS[name.rpartition("_")[2]]
