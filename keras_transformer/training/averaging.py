"""Averages of checkpoints (Vaswani et al. 2017, section 6.1)."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np


def average_arrays(
    checkpoints: Iterable[Mapping[str, np.ndarray] | Sequence[np.ndarray]],
) -> dict[str, np.ndarray] | list[np.ndarray]:
    """Averages checkpoints array by array, in float64, one in memory at a time.

    A tied weight is one array with one name and stays tied.

    Args:
        checkpoints: Mappings of names to arrays, all with the same names and shapes; or lists of arrays as
            `model.get_weights()` returns them, all with the same shapes.

    Returns:
        The means, each in the dtype of the first checkpoint, integers rounded to the nearest: a dictionary, or a list
        for `model.set_weights`.

    Raises:
        ValueError: If there is no checkpoint, one is neither a mapping nor a list of arrays, or names or shapes
            differ, or int8 arrays, which are quantised weights; the message names the array.
    """
    totals, dtypes, quantised, count, named = {}, {}, {}, 0, True
    for checkpoint in checkpoints:
        arrays = _by_name(checkpoint)
        if not count:
            named = isinstance(checkpoint, Mapping)
            totals = {name: np.zeros(array.shape, "float64") for name, array in arrays.items()}
            dtypes = {name: array.dtype for name, array in arrays.items()}
            quantised = {name: array for name, array in arrays.items() if array.dtype == "int8"}
        for name in sorted(totals.keys() ^ arrays.keys(), key=str):
            raise ValueError(f"All checkpoints must hold the same arrays. {name!r} is not in all of them.")
        for name, array in arrays.items():
            if array.shape != totals[name].shape:
                raise ValueError(
                    f"All checkpoints must agree on shapes. Received for {name!r}: {array.shape}, "
                    f"where the first has {totals[name].shape}."
                )
            if name in quantised and not np.array_equal(array, quantised[name]):
                raise ValueError(
                    "Quantised weights have no mean, as each checkpoint has scales of its own. "
                    f"Received for {name!r}: different int8 arrays. Average the checkpoints, then quantise the mean."
                )
            totals[name] += array
        count += 1
    if not count:
        raise ValueError("At least one checkpoint is needed to take an average. Received none.")
    means = {name: _converted(total / count, dtypes[name]) for name, total in totals.items()}
    return means if named else list(means.values())


def _converted(mean, dtype):
    return (np.rint(mean) if np.issubdtype(dtype, np.integer) else mean).astype(dtype)


def _by_name(checkpoint):
    """Returns the arrays of one checkpoint by name; those of a list by index."""
    named = isinstance(checkpoint, Mapping)
    arrays = checkpoint if named else dict(enumerate(checkpoint)) if isinstance(checkpoint, Sequence) else None
    if arrays is None or not all(hasattr(array, "shape") and hasattr(array, "dtype") for array in arrays.values()):
        raise ValueError(
            "Every checkpoint must be a mapping of names to arrays or a list of arrays. "
            f"Received: {type(checkpoint).__name__}. For models pass `[a.get_weights(), b.get_weights()]`."
        )
    return arrays
