"""Folders of Hugging Face models: which model it is, and its weights, without torch and transformers."""

import importlib
import inspect
import json
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from zoo.conversion.pickles import read_pickled_arrays

LOADERS = {
    "bert": ("zoo.conversion.from_bert", "load_bert"),
    "distilbert": ("zoo.conversion.from_bert", "load_bert"),
    "roberta": ("zoo.conversion.from_roberta", "load_roberta"),
    "gpt2": ("zoo.conversion.from_gpt2", "load_gpt2"),
    "marian": ("zoo.conversion.from_marian", "load_marian"),
    "mt5": ("zoo.conversion.from_t5", "load_t5"),
    "t5": ("zoo.conversion.from_t5", "load_t5"),
    "vit": ("zoo.conversion.from_vit", "load_vit"),
    "deit": ("zoo.conversion.from_vit", "load_vit"),
}
ACTIVATIONS = {  # Names there, and those of `TransformerConfig`.
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "swish": "swish",
    "silu": "swish",
}
_WEIGHTS, _INDEX, _PICKLE = "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"


def load_folder(folder: str | os.PathLike, **options: Any):
    """Loads the model of a Hugging Face folder as a predictor.

    Args:
        folder: Folder with `config.json`, weights and vocabulary.
        options: Options of the architecture, such as `target_language` of `zoo.conversion.from_marian.load_marian`.

    Raises:
        ValueError: If the architecture is unknown, does not have one of the options, or a file is missing or damaged.
    """
    kind = read_json(folder, "config.json").get("model_type")
    if kind not in LOADERS:
        raise ValueError(
            f"{pathlib.Path(folder) / 'config.json'} must have a model_type of {' or '.join(LOADERS)}. "
            f"Received: {kind!r}. Use another model, or add the line if an old one lacks it."
        )
    module, name = LOADERS[kind]
    load = getattr(importlib.import_module(module), name)
    unknown = sorted(options.keys() - inspect.signature(load).parameters.keys())
    if unknown:
        raise ValueError(f"A {kind} model has no `{unknown[0]}`. Received: {options[unknown[0]]!r}. Leave it out.")
    return load(folder, **options)


def read_json(folder: str | os.PathLike, name: str, required: bool = True) -> dict:
    """Reads an object from a JSON file of a folder; empty if it is not there and not required."""
    path = pathlib.Path(folder) / name
    if not path.is_file():
        if required:
            raise ValueError(f"{folder} has no {name}. Use a Hugging Face model folder, which has one.")
        return {}
    try:
        found = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}. Fetch it again.") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path} must be a JSON object. Received: {type(found).__name__}. Fetch it again.")
    return found


def check_values(folder: str | os.PathLike, found: Mapping, expected: Mapping[str, Sequence], what: str) -> None:
    """Checks that values of `config.json` are among those that a conversion knows.

    Args:
        folder: Folder of the model.
        found: Content of `config.json`.
        expected: Known values by name; None if the name may be missing.
        what: What the file must describe, such as "a BERT encoder".
    """
    for name, values in expected.items():
        if found.get(name) not in values:
            raise ValueError(
                f"{pathlib.Path(folder) / 'config.json'} must describe {what} with {name} of "
                f"{' or '.join(map(str, values))}. Received: {name}={found.get(name)!r}. Use another model."
            )


def check_integers(folder: str | os.PathLike, found: Mapping, names: Sequence[str]) -> None:
    """Checks that values of `config.json` are whole numbers."""
    for name in names:
        if type(found.get(name)) is not int:
            path = pathlib.Path(folder) / "config.json"
            raise ValueError(
                f"{path} must have a whole number as {name}. Received: {found.get(name)!r}. Fetch it again."
            )


def read_arrays(folder: str | os.PathLike) -> tuple[dict[str, np.ndarray], pathlib.Path]:
    """Reads the weights of a folder, float32, from safetensors or else from PyTorch's file; returns its path, too.

    Raises:
        ValueError: If there are no weights, or a file is damaged.
    """
    folder = pathlib.Path(folder)
    if (folder / _WEIGHTS).is_file():
        path, arrays = folder / _WEIGHTS, _read_safetensors(folder / _WEIGHTS)
    elif (folder / _INDEX).is_file():
        path, arrays = folder / _INDEX, {}
        names = set(map(str, read_json(folder, _INDEX).get("weight_map", {}).values()))
        for name in sorted(names):
            if pathlib.Path(name).name != name or not (folder / name).is_file():
                raise ValueError(f"{path} names {name!r}, which is no file of {folder}. Fetch the model again.")
            arrays |= _read_safetensors(folder / name)
    elif (folder / _PICKLE).is_file():
        path, arrays = folder / _PICKLE, read_pickled_arrays(folder / _PICKLE)
    else:
        raise ValueError(f"{folder} has neither {_WEIGHTS} nor {_PICKLE}. Fetch the model with its weights.")
    return {name: array.astype("float32") for name, array in arrays.items()}, path


def check_shapes(path: os.PathLike, arrays: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Checks some arrays before a model of the sizes in `config.json` is built, which may be larger than any memory.

    Raises:
        ValueError: If an array is missing, or of another shape than that of these sizes.
    """
    for name, shape in shapes.items():
        found = arrays[name].shape if name in arrays else "none"
        if found != shape:
            raise ValueError(
                f"{path} does not fit config.json: {name!r} must have shape {shape}. Received: {found}. Use the "
                "files of one model."
            )


def _read_safetensors(path):
    try:
        return safetensors.numpy.load_file(path)
    except (safetensors.SafetensorError, OSError, TypeError) as error:
        raise ValueError(f"{path} is damaged: {error}. Fetch it again.") from error
