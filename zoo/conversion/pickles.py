"""Reading of PyTorch's weight files without PyTorch, and without running what they say."""

import io
import math
import os
import pickle
import pickletools
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
_MAX_AXES = 32  # More have no meaning; the product of very many sizes takes hours.
# Operations of a pickle: those that stand for their argument or a value, and those that make something.
_LITERALS = {"BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINSTRING"}
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_EMPTY = {"EMPTY_LIST": list, "EMPTY_DICT": dict}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


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


def _unpickle(file):
    """Returns the value of a pickle of protocol 2, of which only the operations of `torch.save` are known.

    They are those of PyTorch's own `weights_only`. Keys of dictionaries are strings or whole numbers: the hash of
    nested tuples can take longer than any program runs.
    """
    stack, marks, memo = [], [], {}

    def pop(count):
        if count > len(stack) - (marks[-1] if marks else 0):
            raise ValueError("an operation lacks its values")
        found = stack[len(stack) - count :]
        del stack[len(stack) - count :]
        return found

    def pop_to_mark():
        found = pop(len(stack) - marks[-1])
        marks.pop()
        return found

    for opcode, argument, _ in _operations(file):
        name = opcode.name
        if name in _LITERALS:
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _EMPTY:
            stack.append(_EMPTY[name]())
        elif name in _TUPLES:
            stack.append(tuple(pop(_TUPLES[name])))
        elif name == "MARK":
            marks.append(len(stack))
        elif name == "TUPLE":
            stack.append(tuple(pop_to_mark()))
        elif name in ("APPEND", "APPENDS"):
            items = pop(1) if name == "APPEND" else pop_to_mark()
            stack[-1].extend(items)
        elif name in ("SETITEM", "SETITEMS"):
            items = pop(2) if name == "SETITEM" else pop_to_mark()
            _set_items(stack[-1], zip(items[::2], items[1::2], strict=True))
        elif name in ("BINPUT", "LONG_BINPUT"):
            memo[argument] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(memo[argument])
        elif name == "GLOBAL":
            stack.append(_find(argument))
        elif name == "BINPERSID":
            stack.append(_find_storage(*pop(1)))
        elif name == "REDUCE":
            function, arguments = pop(2)
            stack.append(function(*arguments))
        elif name == "BUILD":  # Attributes of dictionaries, such as the versions of layers in `_metadata`.
            pop(1)
        elif name == "STOP":
            return pop(1)[0]
        elif name != "PROTO":
            raise ValueError(f"it has the operation {name}, which weights do not need and which is not run")


def _operations(file):
    try:
        yield from pickletools.genops(file)
    except ValueError as error:
        raise pickle.UnpicklingError(str(error)) from error


def _find(name):
    """Returns what stands for a name of a module, with a space between both."""
    module, _, part = name.partition(" ")
    if (module, part) == ("collections", "OrderedDict"):
        return _make_dictionary
    if module == "torch" and part in _TYPES:
        return _StorageType(_TYPES[part])
    if (module, part) == ("torch._utils", "_rebuild_tensor_v2"):
        return _rebuild_tensor
    if (module, part) == ("torch._utils", "_rebuild_parameter"):
        return _rebuild_parameter
    raise ValueError(f"it names {module}.{part}, which weights do not need and which is not run")


def _find_storage(description):
    kind, storage_type, key, _, count, *_ = description
    if kind != "storage" or not isinstance(storage_type, _StorageType):
        raise ValueError(f"it has an unknown object, {kind if isinstance(kind, str) else type(kind)!r}")
    if not isinstance(key, str) or type(count) is not int:
        raise ValueError("a storage must have a text as its key and a whole number as its size")
    return _Storage(key, storage_type.dtype, count)


def _set_items(dictionary, items):
    if not isinstance(dictionary, dict):
        raise ValueError(f"items must belong to a dictionary. Received: {type(dictionary).__name__}")
    for key, value in items:
        if type(key) not in (str, int):
            raise ValueError(f"its keys must be texts or whole numbers. Received: {type(key).__name__}")
        dictionary[key] = value


def _make_dictionary(items=()):
    found = {}
    _set_items(found, items)
    return found


def _rebuild_tensor(storage, offset, shape, strides, *_):
    numbers = offset, *shape, *strides
    if len(numbers) > _MAX_AXES * 2 or not all(type(number) is int and abs(number) < 2**63 for number in numbers):
        raise ValueError(f"a tensor must have at most {_MAX_AXES} axes and whole numbers of 64 bits as sizes")
    return _Tensor(storage, offset, tuple(shape), tuple(strides))


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
        values = _unpickle(io.BytesIO(archive.read(description)))
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
        if _unpickle(file) != _LEGACY_MAGIC:
            raise ValueError("it is not a file of torch.save")
        version, system = _unpickle(file), _unpickle(file)
        if version != 1001 or not system.get("little_endian", True):
            raise ValueError("its version must be 1001, in little-endian order. Received: another one")
        values, keys = _unpickle(file), _unpickle(file)
        found = {tensor.storage.key: tensor.storage for tensor in values.values() if isinstance(tensor, _Tensor)}
        places = {}
        for key in keys:
            (count,) = struct.unpack("<q", file.read(8))
            if not isinstance(key, str) or key not in found:
                raise ValueError("it has numbers of an unknown type")
            places[key] = file.tell()
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
