"""Smaller forms of weights in files: 16 or 8 bits, and the difference to the weights of a base. NumPy only."""

import math
from collections.abc import Mapping

import numpy as np

Arrays = Mapping[str, np.ndarray]

DTYPES = "float32", "float16", "int8"
_ROWS, _COLUMNS, _LEFT, _RIGHT = "@rows", "@columns", "@left", "@right"
_SMALLEST = 1024  # Smaller arrays are not worth 8 bits.
_LEAST_PER_SCALE = 16  # Numbers of a row or column, for one of its own.
_ITERATIONS = 8
_COARSEST = 0.0087  # Relative error of 8 bits above which 16 are used; so embeddings of MiniLM keep a cosine of 0.999.
_ROUNDING = {"float32": 1e-5, "float16": 1e-3, "int8": 5e-3}  # Relative error of factors, about that of the dtype.


def pack(arrays: Arrays, dtype: str = "float32", base: Arrays | None = None) -> dict[str, np.ndarray]:
    """Returns arrays to store, from which `unpack` computes float32 arrays.

    With "int8", a matrix is stored as integers, with a scale for each row and one for each column, or as float16 if
    outliers would make its integers coarse; vectors stay float32. With a base, arrays that equal those of the base are
    left out, and matrices that differ by a matrix of low rank, as after training with LoRA, are stored as its factors.

    Args:
        arrays: Weights by name.
        dtype: "float32", "float16" or "int8".
        base: Weights of a model that this one contains; see `check_base`.

    Raises:
        ValueError: If the dtype is unknown or cannot hold a value.
    """
    if dtype not in DTYPES:
        raise ValueError(f"`dtype` must be one of {', '.join(DTYPES)}. Received: dtype={dtype!r}.")
    base, packed = base or {}, {}
    for name, array in arrays.items():
        if name in base:
            below = base[name]
            if np.array_equal(below, array):
                continue
            factors = _low_rank(array - below, _ROUNDING[dtype]) if array.ndim == 2 else None
            if factors is not None:
                for part, factor in zip((_LEFT, _RIGHT), factors):
                    packed |= _stored(name + part, factor, dtype, math.inf)
                continue
        packed |= _stored(name, array, dtype)
    return packed


def check_base(arrays: Arrays, base: Arrays, name: str) -> None:
    """Raises `ValueError` if `arrays` lack an array of their base, which is called `name`, or have another shape."""
    for key, below in base.items():
        found = arrays[key].shape if key in arrays else "no such array"
        if found != below.shape:
            raise ValueError(
                f"A model must contain its base. Received: the base {name}, whose {key!r} has the shape {below.shape}, "
                f"and a model with {found}. Pass the checkpoint that the model was fine-tuned from, or no base."
            )


def unpack(packed: Arrays, base: Arrays | None = None) -> dict[str, np.ndarray]:
    """Returns the float32 arrays from which `pack` made its result, up to the precision of the dtype.

    Raises:
        ValueError: If parts of an array are missing or do not fit each other or the base.
    """
    parts = {name: array.astype("float32") for name, array in packed.items()}
    arrays = dict(base or {})
    try:
        for name in [name.removesuffix(_ROWS) for name in parts if name.endswith(_ROWS)]:
            values, rows, columns = (parts.pop(name + part) for part in ("", _ROWS, _COLUMNS))
            parts[name] = (values.reshape(-1, values.shape[-1]) * rows * columns).reshape(values.shape)
        for name in [name for name in parts if "@" not in name]:
            arrays[name] = parts.pop(name)
        for name in [name.removesuffix(_LEFT) for name in parts if name.endswith(_LEFT)]:
            arrays[name] = arrays[name] + parts.pop(name + _LEFT) @ parts.pop(name + _RIGHT)
    except KeyError as error:
        whole = "base with it" if error.args[0] == name else f"part {error}"
        raise ValueError(f"The parts of {name!r} must fit each other and the base. Received: no {whole}.") from error
    except ValueError as error:
        raise ValueError(f"The parts of {name!r} must fit each other and the base. Received: {error}.") from error
    if parts:
        raise ValueError(f"Each part must belong to an array. Received: {min(parts)!r}.")
    return arrays


def _stored(name, array, dtype, coarsest=_COARSEST):
    return _to_int8(name, array, coarsest) if dtype == "int8" else {name: _cast(name, array, dtype)}


def _cast(name, array, dtype):
    if np.abs(array[np.isfinite(array)]).max(initial=0) > np.finfo(dtype).max:
        raise ValueError(f"{name!r} has values beyond those of {dtype}. Save it with dtype='float32'.")
    return np.ascontiguousarray(array, dtype)


def _to_int8(name, array, coarsest):
    if array.ndim < 2 or array.size < _SMALLEST:
        return {name: _cast(name, array, "float32")}
    if not np.isfinite(array).all():
        raise ValueError(f"{name!r} has values that are not finite, which int8 cannot hold. Save it as float32.")
    matrix = array.reshape(-1, array.shape[-1])
    rows, columns = _scales(matrix)
    values = np.rint(matrix / rows / columns)
    if np.linalg.norm(values * rows * columns - matrix) > coarsest * np.linalg.norm(matrix):
        return {name: _cast(name, array, "float16")}
    return {name: values.astype("int8").reshape(array.shape), name + _ROWS: rows, name + _COLUMNS: columns}


def _scales(matrix):
    """Returns scales `[R, 1]` of rows and `[1, C]` of columns that make all magnitudes at most 127, and most large.

    A large value in a row alone or a column alone then does not make its neighbours coarse. Equal steps in turn bring
    the largest magnitudes of all rows and all columns together (as equilibration of matrices: Ruiz 2001).
    """
    sizes = np.abs(matrix)
    rows, columns = np.ones((len(matrix), 1)), np.ones((1, matrix.shape[1]))
    for _ in range(_ITERATIONS):
        for scale, axis in ((columns, 0), (rows, 1)):
            largest = (sizes / rows / columns).max(axis, keepdims=True)
            scale *= np.sqrt(np.where(largest == 0, 1, largest))
    if matrix.shape[1] < _LEAST_PER_SCALE:
        rows, last, axis = np.ones((1, 1)), columns, 0
    else:
        columns, last, axis = columns if len(matrix) >= _LEAST_PER_SCALE else np.ones((1, 1)), rows, 1
    largest = (sizes / rows / columns).max(axis, keepdims=True)
    last *= np.where(largest == 0, 1, largest) / 127
    return rows.astype("float32"), columns.astype("float32")


def _low_rank(difference, error):
    """Returns two factors of a matrix, up to a relative error, or None if they have half as many numbers or more."""
    left, values, right = np.linalg.svd(difference, full_matrices=False)
    left_out = np.sqrt(np.cumsum(values[::-1] ** 2)[::-1])  # By a rank of n, for n from 0.
    rank = max(1, int(np.count_nonzero(left_out > error * left_out[0])))
    if 2 * rank * sum(difference.shape) > difference.size:
        return None
    root = np.sqrt(values[:rank])
    return left[:, :rank] * root, root[:, None] * right[:rank]
