"""Drawing of images and of where a model looks."""

import io
import math
import os
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from zoo.extras import require
from zoo.storage.arrays import write_atomically

_MOST = 16  # Images in a picture.


def draw_rollout(predictor: Any, images: Sequence[Any], path: str | os.PathLike) -> None:
    """Draws the first 16 images, each with its class and, beside it, brighter where the model looks.

    Args:
        predictor: A `zoo.images.predictor.ImagePredictor`.
        images: As for `classify`; at least one.
        path: File to write; its suffix determines the format (png, svg, pdf).

    Raises:
        ValueError: If an image is none, or the suffix unknown.
        ImportError: If matplotlib is not installed.
    """
    require("Drawing", "matplotlib")
    from matplotlib.figure import Figure

    images = images[:_MOST]
    rows, shares, answers = predictor.rows(images), predictor.attention(images), predictor.classify(images)
    columns = min(4, len(rows))
    lines = math.ceil(len(rows) / columns)
    figure = Figure(figsize=(3.2 * columns, 2 * lines), layout="constrained")
    axes = figure.subplots(lines, 2 * columns, squeeze=False).reshape(-1, 2)
    for axis in axes.flat:
        axis.set_axis_off()
    for (left, right), image, share, (label, probability) in zip(axes, rows, shares, answers):
        left.imshow(image)
        left.set_title(f"{label} {probability:.2f}", fontsize=8, parse_math=False)
        right.imshow((image * _brightness(share, len(image))[..., None]).astype("uint8"))
    content = io.BytesIO()
    figure.savefig(content, format=pathlib.Path(path).suffix[1:] or "png", dpi=120)
    write_atomically(path, content.getvalue())


def _brightness(share, size):
    """Returns the brightness of each pixel, 1 at the cell that counts most: linear between the centres of cells."""
    centres = (np.arange(len(share)) + 0.5) * size / len(share) - 0.5
    wide = np.array([np.interp(np.arange(size), centres, row) for row in share])
    high = np.array([np.interp(np.arange(size), centres, column) for column in wide.T]).T
    return 0.15 + 0.85 * high / high.max()
