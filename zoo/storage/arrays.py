"""Weights as named arrays, in safetensors files that are written whole or not at all."""

import contextlib
import errno
import hashlib
import json
import os
import pathlib
import shutil
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import safetensors
import safetensors.numpy

_UNWRITABLE = "could not be written"


def named_arrays(model) -> dict[str, np.ndarray]:
    """The weights of a Keras model by path, without the model's own name: one name for a tied weight.

    What dense layers learn by LoRA is merged into their kernels.
    """
    from keras_transformer.training import merged_kernel

    arrays = {}
    for name, weight in _named_weights(model):
        if name in arrays:
            raise ValueError(f"Two weights of the model have the path {name!r}. Give their layers different names.")
        arrays[name] = np.asarray(weight)
    for dense in _adapted(model):
        arrays[dense._kernel.path.removeprefix(f"{model.name}/")] = merged_kernel(dense)
    return arrays


def assign_arrays(model, arrays: Mapping[str, np.ndarray], origin: str) -> None:
    """Puts named arrays into a model of the same architecture; LoRA begins anew from them.

    Raises:
        ValueError: If an array is missing, left over or of another shape; the message names it and `origin`.
            The model is unchanged then.
    """
    weights = dict(_named_weights(model))
    missing, unknown = weights.keys() - arrays.keys(), arrays.keys() - weights.keys()
    if missing or unknown:
        raise ValueError(
            f"{origin} does not fit the model. Missing arrays: {_some(missing)}; unknown arrays: {_some(unknown)}. "
            "Was it saved from a model of another size?"
        )
    for name, weight in weights.items():
        if tuple(weight.shape) != arrays[name].shape:
            raise ValueError(
                f"{origin} does not fit the model: {name!r} must have shape {tuple(weight.shape)}. "
                f"Received: {arrays[name].shape}."
            )
    for name, weight in weights.items():
        weight.assign(arrays[name].astype("float32"))
    for dense in _adapted(model):
        dense.lora_kernel_b.assign(np.zeros(dense.lora_kernel_b.shape, "float32"))


def _adapted(model):
    """The dense layers that learn by LoRA."""
    return [layer for layer in model._flatten_layers() if getattr(layer, "lora_enabled", False)]


def _named_weights(model):
    """(name, variable) of all weights but those of LoRA."""
    left_out = {id(v) for dense in _adapted(model) for v in (dense.lora_kernel_a, dense.lora_kernel_b)}
    for weight in model.weights:
        if id(weight) not in left_out:
            yield weight.path.removeprefix(f"{model.name}/"), weight


def save_arrays(path: str | os.PathLike, arrays: Mapping[str, np.ndarray], facts: Mapping | None = None) -> None:
    """Writes arrays and JSON facts, with a hash of both, to one safetensors file; an interruption leaves the old file
    or none."""
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    text = json.dumps(facts)
    metadata = {"facts": text, "sha256": _digest(contiguous, text)}
    write_whole(path, safetensors.numpy.save(contiguous, metadata))


def load_arrays(path: str | os.PathLike) -> tuple[dict[str, np.ndarray], dict | None]:
    """Arrays and facts of a file that `save_arrays` wrote.

    Raises:
        ValueError: If the file is missing, truncated or altered, or no such file; the message names it.
    """
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no dict)
    except (OSError, safetensors.SafetensorError, TypeError, ValueError) as error:
        raise ValueError(f"{os.fspath(path)} is missing, truncated or not a safetensors file: {error}") from error
    text = metadata.get("facts", "")
    if metadata.get("sha256") != _digest(arrays, text):
        raise ValueError(f"{os.fspath(path)} was altered after it was written: its hash does not fit its content.")
    return arrays, json.loads(text)


def _digest(arrays, text):
    """A hash of names, types, shapes, values and a text."""
    found = hashlib.sha256(text.encode())
    for name, array in sorted(arrays.items()):
        found.update(f"{name} {array.dtype} {array.shape}".encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """Writes a file so that nobody ever sees a part of it, not even after a power cut."""
    temporary = f"{os.fspath(path)}.{os.getpid()}.part"
    with told_if_unwritable(path):
        try:
            with open(temporary, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            pathlib.Path(temporary).unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def told_if_unwritable(path: str | os.PathLike) -> Iterator[None]:
    """Makes the errors of a full disk or a folder of others, in this block, name what was to be written."""
    try:
        yield
    except OSError as error:
        if _UNWRITABLE in str(error):
            raise
        text = f"{os.fspath(path)} {_UNWRITABLE} ({error.strerror or error}); what was there before is whole"
        raise OSError(error.errno or errno.EIO, text) from error


def _some(names: Iterable[str]) -> str:
    names = sorted(names)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "") or "none"


@contextlib.contextmanager
def new_folder(folder: str | os.PathLike) -> Iterator[pathlib.Path]:
    """A folder to fill, which becomes `folder` when the block ends without an error and is deleted otherwise.

    Raises:
        ValueError: If `folder` exists.
    """
    folder = pathlib.Path(folder)
    if folder.exists():
        raise ValueError(f"{folder} exists already, and nothing is overwritten. Choose another folder or delete it.")
    part = folder.with_name(f"{folder.name}.{os.getpid()}.part")
    with told_if_unwritable(folder):
        part.mkdir(parents=True)
        try:
            yield part
            os.rename(part, folder)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
