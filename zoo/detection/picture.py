"""Draws detected objects into images."""

import os
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from zoo.detection.predictor import Detection
from zoo.images.decoding import read_image

_COLOURS = "#e6194b", "#0082c8", "#f58231", "#911eb4", "#3cb44b", "#008080", "#aa6e28", "#800000", "#000080", "#808000"


def draw_objects(
    image: str | os.PathLike, objects: Sequence[Detection], labels: Sequence[str], path: str | os.PathLike
) -> None:
    """Writes an image with a box and a label for each object; arguments as for `drawn_objects`.

    Args:
        path: File to write, in the format of its ending.
    """
    drawn_objects(read_image(image), objects, labels).save(path)


def drawn_objects(image: np.ndarray, objects: Sequence[Detection], labels: Sequence[str]) -> Any:
    """Returns a `PIL.Image.Image` with a box and a label for each object.

    Args:
        image: The image, uint8 `[H, W, 3]`.
        objects: Its objects; those with low scores are drawn first.
        labels: All classes, which decide the colours.
    """
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.fromarray(image)
    canvas, line = ImageDraw.Draw(picture), max(2, max(picture.size) // 300)
    font = ImageFont.load_default(max(10, max(picture.size) // 50))
    for label, score, box in sorted(objects, key=lambda found: found.score):
        colour = _COLOURS[labels.index(label) % len(_COLOURS)]
        canvas.rectangle(box, outline=colour, width=line)
        text = f"{label} {score:.2f}"
        left, top, right, bottom = canvas.textbbox((0, 0), text, font)
        corner = box[0], max(0, box[1] - bottom - 2)
        canvas.rectangle((*corner, corner[0] + right + 4, corner[1] + bottom + 2), fill=colour)
        canvas.text((corner[0] + 2, corner[1]), text, fill="white", font=font)
    return picture


def drawn_path(draw: str, image: str, several: bool) -> pathlib.Path:
    """Returns the file for an image with its boxes: `draw` itself, or one of the same name in the folder `draw`."""
    if not several:
        return pathlib.Path(draw)
    return pathlib.Path(draw) / f"{pathlib.Path(image).stem}.png"
