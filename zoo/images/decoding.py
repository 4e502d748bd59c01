"""Image files to arrays. Pillow, no Keras."""

import io
import os
import pathlib
from typing import Any

import numpy as np

from zoo.extras import require


class NoImage(ValueError):
    """An image that cannot be read; `reason` is a word for it: "empty", "not_an_image", "truncated" or "too_large"."""

    def __init__(self, reason: str, detail: str):
        super().__init__(f"The file must be an image that Pillow reads, such as JPEG or PNG. Received: {detail}.")
        self.reason = reason


def decode_image(content: bytes) -> np.ndarray:
    """Decodes an image file as uint8 `[H, W, 3]`, red, green and blue.

    Grey, palette, CMYK and 16-bit images are converted; transparency is left out; of an animation the first picture is
    taken. Photographs are turned upright, as their orientation in the file says.

    Raises:
        NoImage: If it is none, or a part of one.
        ImportError: If Pillow is not installed.
    """
    require("Reading images", "PIL")
    from PIL import Image, ImageOps, UnidentifiedImageError

    if not content:
        raise NoImage("empty", "an empty file")
    try:
        with Image.open(io.BytesIO(content)) as image:
            image.load()
            if image.mode.startswith(("I", "F")):
                return _from_numbers(np.asarray(image))
            return np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    except UnidentifiedImageError:
        raise NoImage("not_an_image", f"{len(content):,} bytes of something else") from None
    except Image.DecompressionBombError as error:
        raise NoImage("too_large", str(error)) from None
    except (OSError, ValueError, SyntaxError, EOFError, IndexError) as error:  # What the formats of Pillow raise.
        raise NoImage("truncated", f"a damaged one ({error})") from None


def fit_image(image: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Resizes an image `[H, W, 3]` to `[rows, columns, 3]`; what is too wide or too high is cut at both sides."""
    height, width = image.shape[:2]
    if (height, width) == (rows, columns):
        return image
    from PIL import Image

    top, left, high, wide = central_box(height, width, rows, columns)
    middle = Image.fromarray(image[top : top + high, left : left + wide])
    return np.asarray(middle.resize((columns, rows), Image.BILINEAR))


def central_box(height: int, width: int, rows: int, columns: int) -> tuple[int, int, int, int]:
    """Returns top, left, height and width of the largest part in the middle with the proportions rows : columns."""
    high = min(height, max(1, width * rows // columns))
    wide = min(width, max(1, height * columns // rows))
    return (height - high) // 2, (width - wide) // 2, high, wide


def read_image(image: Any) -> np.ndarray:
    """Returns an image as uint8 `[H, W, 3]`: of a path, the bytes of a file, or an array.

    Raises:
        ValueError: If it is no image; the message contains the path.
    """
    if isinstance(image, (str, os.PathLike)):
        try:
            return decode_image(pathlib.Path(image).read_bytes())
        except NoImage as error:
            raise ValueError(f"{image}: {error}") from None
    if isinstance(image, bytes):
        return decode_image(image)
    array = np.asarray(image)
    if array.ndim == 2 or array.ndim == 3 and array.shape[2] == 1:  # Grey.
        array = np.repeat(array.reshape(*array.shape[:2], 1), 3, axis=2)
    if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] != 3 or not array.size:
        raise ValueError(
            "An image must be a path, the bytes of a file, or an array uint8 `[H, W, 3]`. Received: "
            f"{array.dtype} {list(array.shape)}. Convert it."
        )
    return array


def _from_numbers(numbers):
    """Converts grey values of 16 bits or floats to three channels of 8 bits."""
    most = numbers.max(initial=0)
    scale = 1 if most <= 255 else 257 if most <= 65_535 else most / 255
    grey = np.clip(numbers / scale, 0, 255).astype("uint8")
    return np.repeat(grey[..., None], 3, axis=2)
