"""Random operations on images: RandAugment (Cubuk et al. 2020). NumPy and Pillow."""

import numpy as np

GREY = 128, 128, 128
_ENHANCED = "brightness", "colour", "contrast", "sharpness"
OPERATIONS = (
    "identity",
    "auto_contrast",
    "equalize",
    "rotate",
    "solarize",
    "posterize",
    "shear_x",
    "shear_y",
    "translate_x",
    "translate_y",
    *_ENHANCED,
)
"""The operations of the paper, in any order."""


def apply_operations(image: np.ndarray, draws: np.ndarray, magnitude: float) -> np.ndarray:
    """Applies N operations, one after the other.

    Args:
        image: Uint8 `[H, W, 3]`.
        draws: Numbers in [0, 1), `[N, 2]`: which operation, and in which direction.
        magnitude: How strong they are, in [0, 1]: 1 turns by 30 degrees, shears by 0.3, shifts by 0.45 of the image,
            changes colours by 0.9, keeps 4 bits, and inverts all values. What comes in from outside is grey.

    Returns:
        Uint8 `[H, W, 3]`.
    """
    from PIL import Image

    picture = Image.fromarray(image)
    for which, direction in draws:
        name = OPERATIONS[int(which * len(OPERATIONS))]
        picture = apply_operation(picture, name, magnitude if direction < 0.5 else -magnitude)
    return np.asarray(picture)


def apply_operation(picture, name: str, amount: float):
    """Applies one operation to an image of Pillow; `amount` is the magnitude, negative for the other direction."""
    from PIL import Image, ImageEnhance, ImageOps

    if name in _ENHANCED:
        kind = {"colour": ImageEnhance.Color}.get(name) or getattr(ImageEnhance, name.capitalize())
        return kind(picture).enhance(1 + 0.9 * amount)
    if name == "auto_contrast":
        return ImageOps.autocontrast(picture)
    if name == "equalize":
        return ImageOps.equalize(picture)
    if name == "posterize":
        return ImageOps.posterize(picture, 8 - round(4 * abs(amount)))
    if name == "solarize":
        return ImageOps.solarize(picture, round(256 * (1 - abs(amount))))
    if name == "rotate":
        return picture.rotate(30 * amount, Image.BILINEAR, fillcolor=GREY)
    if name == "identity":
        return picture
    width, height = picture.size
    shear, shift = 0.3 * amount, 0.45 * amount
    matrix = {  # Each pixel (x, y) is taken from (a x + b y + c, d x + e y + f).
        "shear_x": (1, shear, -shear * height / 2, 0, 1, 0),
        "shear_y": (1, 0, 0, shear, 1, -shear * width / 2),
        "translate_x": (1, 0, shift * width, 0, 1, 0),
        "translate_y": (1, 0, 0, 0, 1, shift * height),
    }[name]
    return picture.transform(picture.size, Image.AFFINE, matrix, Image.BILINEAR, fillcolor=GREY)
