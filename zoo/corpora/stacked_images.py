"""Images of one size as one array in a temporary file, so that more of them can be used than memory holds."""

import tempfile
from collections.abc import Iterable

import numpy as np

from zoo.storage.arrays import write_errors


def stack_images(images: Iterable[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """Returns images as one array, of which the system keeps in memory what is used and fits.

    The file is in the folder for temporary files (`TMPDIR`), and is deleted with the array.

    Args:
        images: Uint8 arrays of `shape`, which are taken one by one.
        shape: Shape of an image, such as (H, W, 3).

    Returns:
        Uint8 `[N, *shape]`, read-only.

    Raises:
        OSError: If the file cannot be written, as when the disk is full.
    """
    count, place = 0, f"a temporary file in {tempfile.gettempdir()}"
    with tempfile.TemporaryFile() as file:
        for image in images:
            if image.shape != shape or image.dtype != "uint8":
                raise ValueError(f"An image must be uint8 {shape}. Received: {image.dtype} {image.shape}.")
            with write_errors(place):
                file.write(np.ascontiguousarray(image).data)
            count += 1
        with write_errors(place):
            file.flush()
        if not count:
            return np.zeros((0, *shape), "uint8")
        return np.asarray(np.memmap(file, "uint8", "r", shape=(count, *shape)))
