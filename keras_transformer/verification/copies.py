"""A model once more: in another precision, or saved and loaded."""

import os
import tempfile
from typing import Any

import keras

_REDUCED = ("bfloat16", "float16", "mixed_bfloat16", "mixed_float16")


def in_precision(model: keras.Model, policy: str, inputs: Any) -> keras.Model:
    """A copy with the same weights under another dtype policy in all its layers.

    Raises:
        ValueError: If the model cannot be made from its configuration, or keeps its own policy.
    """
    try:
        copy = type(model).from_config(_with_policy(model.get_config(), policy))
        copy(inputs)
        copy.set_weights(model.get_weights())
    except Exception as error:
        raise ValueError(f"no copy can be made by from_config(get_config()): {first_line(error)}") from error
    kept = [layer.name for layer in _layers(copy) if layer.compute_dtype != keras.DTypePolicy(policy).compute_dtype]
    if kept:
        raise ValueError(f"{kept[0]} of the copy does not take the dtype policy {policy} from its configuration")
    return copy


def reloaded(model: keras.Model) -> keras.Model:
    """The model saved as a .keras file and loaded again.

    Raises:
        ValueError: If either fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.keras")
        try:
            model.save(path)
            return keras.saving.load_model(path)
        except Exception as error:
            raise ValueError(f"save or load_model raised: {first_line(error)}") from error


def first_line(error: Exception) -> str:
    """The kind of an error and what it says first."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:120]}" if lines else type(error).__name__


def _layers(model):
    """The layers that compute with weights of their own."""
    return [layer for layer in model._flatten_layers(include_self=False) if layer._trainable_variables]


def _with_policy(value, policy):
    if isinstance(value, dict):
        if value.get("class_name") == "DTypePolicy":
            return {**value, "config": {**value["config"], "name": policy}}
        return {name: _with_policy(part, policy) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_with_policy(part, policy) for part in value)
    return policy if isinstance(value, str) and value in _REDUCED else value
