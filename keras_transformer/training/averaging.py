"""The mean of several checkpoints (Vaswani et al. 2017, section 6.1)."""

from collections.abc import Iterable, Mapping

import numpy as np


def average_arrays(checkpoints: Iterable[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Averages checkpoints name by name, in float64, one in memory at a time.

    A tied weight is one array with one name, so it stays tied.

    Args:
        checkpoints: Mappings of names to arrays, all with the same names and shapes.

    Returns:
        The means, each in the dtype of the first checkpoint.

    Raises:
        ValueError: If there is no checkpoint, or names or shapes differ; the message names the array.
    """
    totals, dtypes, count = {}, {}, 0
    for checkpoint in checkpoints:
        if not count:
            totals = {name: np.zeros(array.shape, "float64") for name, array in checkpoint.items()}
            dtypes = {name: array.dtype for name, array in checkpoint.items()}
        for name in sorted(totals.keys() ^ checkpoint.keys()):
            raise ValueError(f"All checkpoints must hold the same arrays. {name!r} is not in all of them.")
        for name, array in checkpoint.items():
            if array.shape != totals[name].shape:
                raise ValueError(
                    f"All checkpoints must agree on shapes. Received for {name!r}: {array.shape}, "
                    f"where the first has {totals[name].shape}."
                )
            totals[name] += array
        count += 1
    if not count:
        raise ValueError("At least one checkpoint is needed to take an average. Received none.")
    return {name: (total / count).astype(dtypes[name]) for name, total in totals.items()}
