"""Images of three classes, which a small model learns in seconds: a red, a green and a blue square on noise."""

import numpy as np
import pytest

image_module = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

LABELS = "blue", "green", "red"


def squares(label, rng, size=12):
    """Returns an image with a square of the colour at a random place."""
    image = rng.integers(90, 160, (size, size, 3), "uint8")
    row, column = rng.integers(0, size - 4, 2)
    image[row : row + 5, column : column + 5] = [255 * (name == label) for name in ("red", "green", "blue")]
    return image


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Returns a folder of 20 PNG files a class."""
    root, rng = tmp_path_factory.mktemp("images"), np.random.default_rng(1)
    for label in LABELS:
        (root / label).mkdir()
        for number in range(20):
            image_module.fromarray(squares(label, rng)).save(root / label / f"{number:02d}.png")
    return root
