"""Copies of a model: in another precision, or saved and loaded."""

import os
import re
import tempfile
from typing import Any

import keras

from keras_transformer.ops.sublayers import owners

_BOLD = re.compile(r"\x1b\[\d+m")
_REDUCED = ("bfloat16", "float16", "mixed_bfloat16", "mixed_float16")


class OwnPolicyError(ValueError):
    """Error of a model whose layers have a dtype policy of their own."""


def copy_with_policy(model: keras.Model, policy: str, inputs: Any) -> keras.Model:
    """Returns a copy with the same weights and another dtype policy in all its layers.

    Raises:
        ValueError: If the model cannot be created from its configuration, or called.
        OwnPolicyError: If a layer keeps its own policy.
    """
    try:
        copy = type(model).from_config(_with_policy(model.get_config(), policy))
        copy(inputs)
        copy.set_weights(model.get_weights())
    except Exception as error:
        raise ValueError(f"a copy in {policy} by from_config(get_config()) raised {first_line(error)}") from error
    kept = [layer.name for layer in owners(copy) if layer.compute_dtype != keras.DTypePolicy(policy).compute_dtype]
    if kept:
        raise OwnPolicyError(f"{kept[0]} of the copy does not take the dtype policy {policy} from its configuration")
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
            return keras.saving.load_model(path, safe_mode=False)  # This process wrote its Lambda layers.
        except Exception as error:
            raise ValueError(f"save or load_model raised: {first_line(error)}") from error


def first_line(error: Exception) -> str:
    """Returns the type of an error and the first line of its message, after what Keras writes in front of it."""
    lines = [line for line in _BOLD.sub("", str(error)).splitlines() if line.strip()]
    called = lines[0].removesuffix(".") + ": " if lines[1:] and lines[0].startswith("Exception encountered") else ""
    line = lines[bool(called)].strip()[:120] if lines else ""
    return f"{type(error).__name__}: {called}{line}" if lines else type(error).__name__


def _with_policy(value, policy):
    if isinstance(value, dict):
        if value.get("class_name") == "DTypePolicy":
            return {**value, "config": {**value["config"], "name": policy}}
        return {name: _with_policy(part, policy) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_with_policy(part, policy) for part in value)
    return policy if isinstance(value, str) and value in _REDUCED else value
