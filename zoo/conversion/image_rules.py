"""Description of what surrounds a model of images: how pictures become its inputs, and what its outputs are."""

from typing import Any

from zoo.corpora.box_rows import GREY
from zoo.models.detector import Detector

_RGB = "images: pictures in RGB, uint8 from 0 to 255, turned upright, without transparency"
_RESIZED = "resized by bilinear interpolation over all pixels that count, as Pillow does"
_SQUARE = "{rgb}: the largest square in the middle, {resized}, to {size} rows and columns."
_CANVAS = (
    "{rgb}: {resized}, with their proportions, so that they just fit into {rows} rows and {columns} columns; they lie "
    "at the top and at the left, and the rest is {grey}. sizes: the rows and the columns that each fills."
)
_OBJECTS = (
    "Each query finds one object: its class is that of the highest probability, which is its score. Those below "
    "min_score are left out. boxes are left, top, right and bottom in pixels of the resized picture."
)


def image_rules(predictor: Any) -> dict:
    """Returns what a program needs around the model of a predictor of images, ready for JSON."""
    config = predictor.model.config
    if isinstance(predictor.model, Detector):
        rows, columns = config.image_rows, config.image_columns
        text = _CANVAS.format(rgb=_RGB, resized=_RESIZED, rows=rows, columns=columns, grey=GREY)
        return {"labels": predictor.labels, "min_score": predictor.min_score, "images": text, "objects": _OBJECTS}
    temperature = {"temperature": predictor.temperature, "temperature_is_applied": True}
    text = _SQUARE.format(rgb=_RGB, resized=_RESIZED, size=config.image_size)
    return {"labels": predictor.labels, **temperature, "images": text}
