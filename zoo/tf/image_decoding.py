"""Decoding of image files in graphs."""

import tensorflow as tf

_HEAD = 65_536  # Bytes in which the orientation of a photograph is looked for: at most one segment of a JPEG file.
_EXIF = b"Exif\x00\x00"
_ORIENTATION = {  # The entry of TIFF: tag 274, a short, one value; then its first byte that is not zero.
    b"II*\x00": b"\x12\x01\x03\x00\x01\x00\x00\x00",
    b"MM\x00*": b"\x01\x12\x00\x03\x00\x00\x00\x01\x00",
}


def decode_upright(content: tf.Tensor) -> tf.Tensor:
    """Decodes a JPEG, PNG, GIF or BMP file as uint8 `[H, W, 3]`, as `zoo.images.decoding.decode_image` does.

    Of an animation, the first picture counts. Photographs in JPEG files are turned upright, as their orientation says.
    """
    pixels = tf.io.decode_image(content, channels=3, expand_animations=False)
    pixels.set_shape((None, None, 3))
    return _turned(pixels, _orientation(content))


def _orientation(content):
    """Returns the orientation of a photograph, 1 to 8; 1 if none is said."""
    head = tf.strings.substr(content, 0, _HEAD)
    exif, found = _after(head, _EXIF), tf.constant(1, tf.uint8)
    is_photograph = tf.strings.substr(head, 0, 2) == b"\xff\xd8"
    for order, entry in _ORIENTATION.items():
        value = tf.io.decode_raw(tf.strings.substr(_after(exif, entry) + b"\x01", 0, 1), tf.uint8)[0]
        known = is_photograph & (tf.strings.substr(exif, 0, 4) == order) & (value >= 1) & (value <= 8)
        found = tf.where(known, value, found)
    return found


def _after(text, mark):
    """Returns what follows the first `mark` in a string; nothing if there is none."""
    parts = tf.strings.split([text], mark, maxsplit=1).values
    return tf.cond(tf.size(parts) > 1, lambda: parts[1], lambda: tf.constant(b""))


def _turned(pixels, orientation):
    """Undoes what an orientation of EXIF 2.3 says (tag 274), by changes of rows and columns."""

    pixels = tf.cond(orientation >= 5, lambda: tf.transpose(pixels, (1, 0, 2)), lambda: pixels)

    def among(*values):
        return tf.reduce_any([orientation == value for value in values])

    pixels = tf.cond(among(3, 4, 7, 8), lambda: pixels[::-1], lambda: pixels)
    return tf.cond(among(2, 3, 6, 7), lambda: pixels[:, ::-1], lambda: pixels)
