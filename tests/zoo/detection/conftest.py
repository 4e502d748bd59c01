"""Images with one to three coloured squares and discs, whose boxes a small model learns in seconds."""

import numpy as np
import pytest

image_module = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
pytest.importorskip("pycocotools", reason="pycocotools is not installed")
pytest.importorskip("scipy", reason="scipy is not installed")

SIZE = 32


def draw(rng):
    """Returns an image and its objects: (label, (left, top, right, bottom)), which do not overlap."""
    image = rng.integers(100, 150, (SIZE, SIZE, 3), "uint8")
    cells, objects = rng.permutation(4)[: rng.integers(1, 4)], []
    for cell in cells:
        side = int(rng.integers(7, 13))
        top, left = (16 * part + rng.integers(0, 16 - side) for part in divmod(int(cell), 2))
        label = ("bright", "dark")[rng.integers(2)]
        image[top : top + side, left : left + side] = 250 if label == "bright" else 5
        objects.append((label, (int(left), int(top), int(left) + side, int(top) + side)))
    return image, objects


def voc(objects):
    """Returns an XML file of Pascal VOC: pixels from 1, both ends inside."""
    found = "".join(
        f"<object><name>{label}</name><difficult>0</difficult><bndbox><xmin>{left + 1}</xmin><ymin>{top + 1}</ymin>"
        f"<xmax>{right}</xmax><ymax>{bottom}</ymax></bndbox></object>"
        for label, (left, top, right, bottom) in objects
    )
    return f"<annotation><size><width>{SIZE}</width><height>{SIZE}</height></size>{found}</annotation>"


@pytest.fixture(scope="session")
def drawn():
    """Returns 40 images with their objects."""
    rng = np.random.default_rng(5)
    return [draw(rng) for _ in range(40)]


@pytest.fixture(scope="session")
def folder(drawn, tmp_path_factory):
    """Returns a folder of PNG and XML files."""
    root = tmp_path_factory.mktemp("boxes")
    for number, (image, objects) in enumerate(drawn):
        image_module.fromarray(image).save(root / f"{number:02d}.png")
        (root / f"{number:02d}.xml").write_text(voc(objects))
    return root
