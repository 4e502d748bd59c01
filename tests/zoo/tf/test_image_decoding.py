"""Photographs are turned upright in graphs as by Pillow, from either byte order; other files stay as they are."""

import io

import numpy as np
import pytest

pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
pytest.importorskip("PIL.Image", reason="Pillow is not installed")

import tensorflow as tf
from PIL import Image

from zoo.images.decoding import decode_image
from zoo.tf.image_decoding import decode_upright

PIXELS = np.linspace(0, 250, 16 * 24 * 3).reshape(16, 24, 3).astype("uint8")  # All corners differ.


def photograph(orientation, order):
    """Returns a JPEG file whose EXIF data, of the byte order "little" or "big", say an orientation."""

    def number(value, size):
        return value.to_bytes(size, order)

    entry = number(274, 2) + number(3, 2) + number(1, 4) + number(orientation, 2) + bytes(2)
    make = number(271, 2) + number(2, 2) + number(4, 4) + b"abc\x00"  # Another entry comes first.
    mark = b"II" if order == "little" else b"MM"
    exif = b"Exif\x00\x00" + mark + number(42, 2) + number(8, 4) + number(2, 2) + make + entry + bytes(4)
    content = io.BytesIO()
    Image.fromarray(PIXELS).save(content, "JPEG", quality=95, exif=exif)
    return content.getvalue()


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("orientation", [*range(10), 255])
def test_photographs_are_turned_as_by_pillow(orientation, order):
    content = photograph(orientation, order)
    expected, found = decode_image(content), tf.function(decode_upright)(tf.constant(content)).numpy()
    assert found.shape == expected.shape == ((24, 16, 3) if 5 <= orientation <= 8 else (16, 24, 3))
    np.testing.assert_allclose(found.astype(int), expected, atol=10)


@pytest.mark.parametrize("kind", ["PNG", "BMP", "GIF"])
def test_other_files_stay_as_they_are(kind):
    content = io.BytesIO()
    Image.fromarray(PIXELS[..., 0]).save(content, kind)
    found = decode_upright(tf.constant(content.getvalue())).numpy()
    np.testing.assert_array_equal(found, decode_image(content.getvalue()))


def test_what_looks_like_an_orientation_in_other_places_does_not_count():
    content = photograph(1, "little") + b"Exif\x00\x00II*\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00"
    assert decode_upright(tf.constant(content)).shape == (16, 24, 3)
    content = io.BytesIO()
    Image.fromarray(PIXELS).save(content, "JPEG")
    assert decode_upright(tf.constant(content.getvalue())).shape == (16, 24, 3)
