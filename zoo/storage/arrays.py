"""Weights as named arrays, and atomic writes of files and folders."""

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
    """Returns the weights of a Keras model by path, without the model's own name; a tied weight has one name.

    LoRA matrices are merged into the kernels of their dense layers.

    Raises:
        ValueError: If the model is not built, so that it has no weights yet.
    """
    from keras_transformer.training import merged_kernel

    if not model.built:
        raise ValueError(f"The model must have weights. Received: {model.name}, which is not built. Build or call it.")

    arrays = {}
    for name, weight in _named_weights(model):
        if name in arrays:
            raise ValueError(f"Two weights of the model have the path {name!r}. Give their layers different names.")
        arrays[name] = np.asarray(weight)
    for dense in _lora_layers(model):
        (kernel,) = (weight for weight in dense.weights if weight.name == "kernel")
        arrays[kernel.path.removeprefix(f"{model.name}/")] = merged_kernel(dense)
    return arrays


def assign_arrays(model, arrays: Mapping[str, np.ndarray], origin: str) -> None:
    """Assigns named arrays to a model of the same architecture; LoRA matrices are reset.

    Raises:
        ValueError: If an array is missing, unknown, of another shape or not finite; the message names it and `origin`,
            and the model is unchanged.
    """
    weights = dict(_named_weights(model))
    missing, unknown = weights.keys() - arrays.keys(), arrays.keys() - weights.keys()
    if missing or unknown:
        raise ValueError(
            f"{origin} does not fit the model. Missing arrays: {_name_list(missing)}; unknown arrays: "
            f"{_name_list(unknown)}. "
            "Was it saved from a model of another size?"
        )
    for name, weight in weights.items():
        if tuple(weight.shape) != arrays[name].shape:
            raise ValueError(
                f"{origin} does not fit the model: {name!r} must have shape {tuple(weight.shape)}. "
                f"Received: {arrays[name].shape}."
            )
        if not _is_finite(arrays[name]):
            raise ValueError(
                f"{origin} must have finite weights. Received: NaN or infinity in {name!r}. Fetch it again, or take a "
                "checkpoint from before the training failed."
            )
    for name, weight in weights.items():
        weight.assign(arrays[name].astype("float32"))
    for dense in _lora_layers(model):
        dense.lora_kernel_b.assign(np.zeros(dense.lora_kernel_b.shape, "float32"))


def _is_finite(array):
    """Returns whether all values are finite in float32."""
    # Where there is NaN, both extremes are NaN; unlike `isfinite` of all values, they take no memory.
    extremes = np.array([array.min(), array.max()] if array.size else 0, "float64")
    return bool((abs(extremes) <= np.finfo("float32").max).all())


def _lora_layers(model):
    """Returns the dense layers with LoRA matrices."""
    from keras_transformer.ops.sublayers import sublayers

    return [layer for layer in sublayers(model, include_self=True) if getattr(layer, "lora_enabled", False)]


def _named_weights(model):
    """Yields (name, variable) of all weights except LoRA matrices."""
    left_out = {id(v) for dense in _lora_layers(model) for v in (dense.lora_kernel_a, dense.lora_kernel_b)}
    for weight in model.weights:
        if id(weight) not in left_out:
            yield weight.path.removeprefix(f"{model.name}/"), weight


def save_arrays(path: str | os.PathLike, arrays: Mapping[str, np.ndarray], facts: Mapping | None = None) -> None:
    """Writes arrays and JSON facts, with a hash of both, to one safetensors file, atomically."""
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    text = json.dumps(facts)
    metadata = {"facts": text, "sha256": arrays_digest(contiguous, text)}
    write_atomically(path, safetensors.numpy.save(contiguous, metadata))


def load_arrays(path: str | os.PathLike) -> tuple[dict[str, np.ndarray], dict | None]:
    """Reads arrays and facts from a file that `save_arrays` wrote.

    Raises:
        ValueError: If the file is missing, truncated, altered, or of another format; the message names it.
    """
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (OSError, safetensors.SafetensorError, TypeError, ValueError) as error:
        raise ValueError(f"{os.fspath(path)} is missing, truncated or not a safetensors file: {error}") from error
    text = metadata.get("facts", "")
    if metadata.get("sha256") != arrays_digest(arrays, text):
        raise ValueError(
            f"{os.fspath(path)} was altered after it was written: its hash does not match its content. Restore it."
        )
    return arrays, json.loads(text)


def arrays_digest(arrays: Mapping[str, np.ndarray], text: str) -> str:
    """Computes the SHA-256 of names, types, shapes, values and a text."""
    found = hashlib.sha256(text.encode())
    for name, array in sorted(arrays.items()):
        found.update(f"{name} {array.dtype} {array.shape}".encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def write_atomically(path: str | os.PathLike, content: bytes) -> None:
    """Writes a file so that it never exists in part, not even after a power failure."""
    temporary = f"{os.fspath(path)}.{os.getpid()}.part"
    with write_errors(path):
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
def write_errors(path: str | os.PathLike) -> Iterator[None]:
    """Adds the path to errors of this block, such as a full disk or missing permissions."""
    try:
        yield
    except OSError as error:
        if _UNWRITABLE in str(error):
            raise
        text = f"{os.fspath(path)} {_UNWRITABLE} ({error.strerror or error}); what was there before is unchanged"
        raise OSError(error.errno or errno.EIO, text) from error


def _name_list(names: Iterable[str]) -> str:
    names = sorted(names)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "") or "none"


def check_new_folder(folder: str | os.PathLike) -> None:
    """Raises `ValueError` if a folder exists, also as a link that leads nowhere."""
    if os.path.lexists(folder):
        raise ValueError(f"{folder} exists already, and nothing is overwritten. Choose another folder or delete it.")


@contextlib.contextmanager
def atomic_folder(folder: str | os.PathLike) -> Iterator[pathlib.Path]:
    """Yields a temporary folder, which is renamed to `folder` if the block succeeds and deleted otherwise.

    Raises:
        ValueError: If `folder` exists, also as a link that leads nowhere.
    """
    folder = pathlib.Path(folder)
    check_new_folder(folder)
    part = folder.with_name(f"{folder.name}.{os.getpid()}.part")
    part.mkdir(parents=True)
    try:
        yield part
        os.rename(part, folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


@contextlib.contextmanager
def new_folder(folder: str | os.PathLike) -> Iterator[pathlib.Path]:
    """Is `atomic_folder` for a block that only writes: its errors name `folder`, as in `write_errors`."""
    with write_errors(folder), atomic_folder(folder) as part:
        yield part
