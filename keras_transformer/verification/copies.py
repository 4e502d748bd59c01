"""Copies of a model: in another precision, or saved and loaded."""

import os
import tempfile
from typing import Any

import keras

_REDUCED = ("bfloat16", "float16", "mixed_bfloat16", "mixed_float16")


def copy_with_policy(model: keras.Model, policy: str, inputs: Any) -> keras.Model:
    """Returns a copy with the same weights and another dtype policy in all its layers.

    Raises:
        ValueError: If the model cannot be created from its configuration, or keeps its own policy.
    """
    try:
        copy = type(model).from_config(_with_policy(model.get_config(), policy))
        copy(inputs)
        copy.set_weights(model.get_weights())
    except Exception as error:
        raise ValueError(f"from_config(get_config()) fails: {first_line(error)}") from error
    kept = [layer.name for layer in _layers(copy) if layer.compute_dtype != keras.DTypePolicy(policy).compute_dtype]
    if kept:
        raise ValueError(f"{kept[0]} of the copy does not take the dtype policy {policy} from its configuration")
    return copy


def save_and_reload(model: keras.Model) -> keras.Model:
    """Saves the model to a .keras file and returns the loaded one.

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
    """Returns the type of an error and the first line of its message."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:120]}" if lines else type(error).__name__


def _layers(model):
    """Returns the layers with trainable weights of their own."""
    return [layer for layer in model._flatten_layers(include_self=False) if layer._trainable_variables]


def _with_policy(value, policy):
    if isinstance(value, dict):
        if value.get("class_name") == "DTypePolicy":
            return {**value, "config": {**value["config"], "name": policy}}
        return {name: _with_policy(part, policy) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_with_policy(part, policy) for part in value)
    return policy if isinstance(value, str) and value in _REDUCED else value
