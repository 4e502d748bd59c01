"""Folders of Hugging Face models: which model it is, and its weights, without torch and transformers."""

import importlib
import inspect
import os
import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from zoo.conversion.pickles import read_pickled_arrays
from zoo.conversion.settings import Rule, read_json, read_setting

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
ACTIVATION = Rule(" or ".join(ACTIVATIONS), lambda value: value in [*ACTIVATIONS])
_FILES = Rule(
    "an object of file names",
    lambda value: isinstance(value, dict) and all(isinstance(name, str) for name in value.values()),
)
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
    if kind not in [*LOADERS]:
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
        files = read_setting(folder, read_json(folder, _INDEX), "weight_map", _FILES, file=_INDEX)
        for name in sorted({*files.values()}):
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
    except AttributeError as error:
        raise ValueError(
            f"{path} must have arrays of float32, float16 or bfloat16. Received: {error.name}. Use other weights."
        ) from error
