"""Reading of PyTorch's weight files without PyTorch, and without running what they say."""

import collections
import io
import math
import os
import pickle
import struct
import zipfile
from typing import NamedTuple

import numpy as np

_TYPES = {
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
}
_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C  # First value of the files of PyTorch before 1.6.
_MAX_DESCRIPTION = 64 * 2**20  # Bytes of names and shapes.


class _StorageType(NamedTuple):
    dtype: str


class _Storage(NamedTuple):
    """Numbers of a file that tensors are views of."""

    key: str
    dtype: str
    count: int


class _Tensor(NamedTuple):
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def read_pickled_arrays(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """Reads the tensors of a file that `torch.save` wrote for a dictionary of tensors, a `state_dict`.

    A pickle can name any function to call. Here only the few names that tensors need are known, and they stand for
    functions of this module; any other name is an error.

    Raises:
        ValueError: If the file is damaged, names anything else, or a tensor reaches beyond its numbers; the message
            names the file.
    """
    path = os.fspath(path)
    try:
        if zipfile.is_zipfile(path):
            values, storage_bytes = _read_zip(path)
        else:
            values, storage_bytes = _read_legacy(path)
        if not isinstance(values, dict):
            raise ValueError(f"it must hold a dictionary of tensors. Received: {type(values).__name__}")
        values = values.get("state_dict", values) if isinstance(values.get("state_dict"), dict) else values
        tensors = {name: tensor for name, tensor in values.items() if isinstance(tensor, _Tensor)}
        if not tensors or not all(isinstance(name, str) for name in tensors):
            raise ValueError("it must hold tensors by name")
        size = os.path.getsize(path)
        return {name: _array(name, tensor, storage_bytes, size) for name, tensor in tensors.items()}
    except ValueError as error:
        raise ValueError(f"{path} cannot be read: {error}. Use a file of weights that you trust.") from error
    except Exception as error:  # A damaged pickle or archive may fail in any way.
        raise ValueError(f"{path} is damaged: {type(error).__name__}: {error}. Fetch it again.") from error


class _Unpickler(pickle.Unpickler):
    """Knows the names that tensors need, none of which runs anything of the file's choice."""

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if module == "torch" and name in _TYPES:
            return _StorageType(_TYPES[name])
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _rebuild_tensor
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return _rebuild_parameter
        raise ValueError(f"it names {module}.{name}, which weights do not need and which is not run")

    def persistent_load(self, pid):
        kind, storage_type, key, _, count, *_ = pid
        if kind != "storage" or not isinstance(storage_type, _StorageType):
            raise ValueError(f"it has an unknown object, {kind!r}")
        return _Storage(str(key), storage_type.dtype, int(count))


def _rebuild_tensor(storage, offset, shape, strides, *_):
    return _Tensor(storage, int(offset), tuple(map(int, shape)), tuple(map(int, strides)))


def _rebuild_parameter(tensor, *_):
    return tensor


def _read_zip(path):
    """Returns the values of a file of PyTorch 1.6 or later, and a function that returns the bytes of a storage."""
    with zipfile.ZipFile(path) as archive:
        (description,) = (name for name in archive.namelist() if name.endswith("/data.pkl") and name.count("/") == 1)
        prefix = description.removesuffix("data.pkl")
        if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
            raise ValueError("its members must not be compressed, so that none is larger than the file")
        if archive.getinfo(description).file_size > _MAX_DESCRIPTION:
            raise ValueError(f"{description} is larger than {_MAX_DESCRIPTION} bytes")
        values = _Unpickler(io.BytesIO(archive.read(description))).load()
        order = f"{prefix}byteorder"
        if order in archive.namelist() and archive.read(order) != b"little":
            raise ValueError("its byte order must be little")

    def storage_bytes(storage, size):
        with zipfile.ZipFile(path) as archive, archive.open(f"{prefix}data/{storage.key}") as file:
            return file.read(size)

    return values, storage_bytes


def _read_legacy(path):
    """As `_read_zip`, for older files: pickles one after another, then the numbers of each storage after its count."""
    with open(path, "rb") as file:
        if _Unpickler(file).load() != _LEGACY_MAGIC:
            raise ValueError("it is not a file of torch.save")
        version, system = _Unpickler(file).load(), _Unpickler(file).load()
        if version != 1001 or not system.get("little_endian", True):
            raise ValueError(f"its version must be 1001, in little-endian order. Received: {version!r}")
        values, keys = _Unpickler(file).load(), _Unpickler(file).load()
        found = {tensor.storage.key: tensor.storage for tensor in values.values() if isinstance(tensor, _Tensor)}
        places = {}
        for key in map(str, keys):
            (count,) = struct.unpack("<q", file.read(8))
            places[key] = file.tell()
            if key not in found:
                raise ValueError(f"it has numbers of an unknown type, {key!r}")
            file.seek(count * _item_size(found[key].dtype), os.SEEK_CUR)

    def storage_bytes(storage, size):
        with open(path, "rb") as file:
            file.seek(places[storage.key])
            return file.read(size)

    return values, storage_bytes


def _item_size(dtype):
    return 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize


def _array(name, tensor, storage_bytes, file_size):
    storage, shape, strides = tensor.storage, tensor.shape, tensor.strides
    size = math.prod(shape)
    last = tensor.offset + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True)) if size else 0
    inside = min([tensor.offset, *shape, *strides, 0]) == 0 and last < max(storage.count, 1) and size <= storage.count
    if not inside:
        raise ValueError(f"its tensor {name!r} of shape {shape} reaches beyond its {storage.count} numbers")
    count = storage.count * _item_size(storage.dtype)
    content = storage_bytes(storage, count) if count <= file_size else b""
    if len(content) < count:
        raise ValueError(f"the numbers of {name!r} are cut off")
    if storage.dtype == "bfloat16":  # The upper half of a float32.
        flat = (np.frombuffer(content, "<u2").astype("uint32") << 16).view("float32")
    else:
        flat = np.frombuffer(content, storage.dtype)
    view = np.lib.stride_tricks.as_strided(flat[tensor.offset :], shape, [s * flat.itemsize for s in strides])
    return view.copy()
