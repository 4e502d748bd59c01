"""Makes images with objects and their boxes: drawn shapes, or images of classes scattered on a canvas.

    python examples/scattered_objects.py --output train.zip --count 8000
    python examples/scattered_objects.py --output dev.zip --count 500 --seed 2
    python -m zoo.detection train --data train.zip --dev-data dev.zip --output run --set training.score=exact_sets \
        --set model.image_rows=64 --set model.image_columns=64 --set model.num_stages=2 --set model.num_queries=12

Each image has 1 to 6 squares, discs and triangles of random sizes and colours at random places, on noise. With
`--images`, a folder or zip file of images in folders of their classes such as CIFAR-10, it has those instead, in a size
of a quarter to a half of the canvas; with `--per-class 50`, only the first 50 of each class, so that a dev set of
another seed has the same pictures in other places. Objects overlap by a tenth of the smaller one at most. Same seed,
same files.
"""

import argparse
import collections
import io
import zipfile

import numpy as np

from zoo.extras import exit_without

SHAPES = "disc", "square", "triangle"


def main() -> None:
    """Writes a zip file of PNG files and Pascal VOC's XML files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", required=True, help="zip file to write")
    parser.add_argument("--images", help="folder or zip file of images in folders of their classes, instead of shapes")
    parser.add_argument("--per-class", type=int, help="use so many images of each class, all by default")
    parser.add_argument("--count", type=int, default=1_000, help="images to make, %(default)s by default")
    parser.add_argument("--objects", type=int, nargs=2, default=[1, 6], help="fewest and most objects, 1 6 by default")
    parser.add_argument("--size", type=int, default=64, help="rows and columns of an image, %(default)s by default")
    parser.add_argument("--seed", type=int, default=1, help="%(default)s by default")
    options = parser.parse_args()
    if options.per_class is not None and (options.per_class < 1 or not options.images):
        parser.error(f"--per-class must be 1 or more, and needs --images. Received: {options.per_class}.")
    exit_without("This example", "PIL")
    from PIL import Image

    given = read_images(options.images, options.per_class) if options.images else None
    rng = np.random.default_rng(options.seed)
    with zipfile.ZipFile(options.output, "w") as archive:
        for number in range(options.count):
            image, objects = scatter(rng, options.size, options.objects, given)
            content = io.BytesIO()
            Image.fromarray(image).save(content, "PNG")
            archive.writestr(f"{number:05d}.png", content.getvalue())
            archive.writestr(f"{number:05d}.xml", annotation(objects))
    print(f"written: {options.output}")


def read_images(path, per_class):
    """Returns (label, image) of the first so many images of each class; None for all."""
    from zoo.images.data import open_images

    images, counts = [], collections.Counter()
    for example in open_images(path):
        counts[example.label] += 1
        if per_class is None or counts[example.label] <= per_class:
            images.append((example.label, example.image))
    return images


def scatter(rng, size, least_and_most, given):
    """Returns an image, uint8 `[size, size, 3]`, and its objects (label, (left, top, right, bottom))."""
    noise = rng.integers(0, 60, (size, size, 3)) + rng.integers(0, 80)
    image, objects = noise.astype("uint8"), []
    wanted = rng.integers(*least_and_most, endpoint=True)
    for _ in range(20 * wanted):
        if len(objects) == wanted:
            break
        side = int(rng.integers(size // 8, size // 3) if given is None else rng.integers(size // 4, size // 2))
        left, top = map(int, rng.integers(0, size - side + 1, 2))
        box = left, top, left + side, top + side
        if any(overlap(box, other) > 0.1 for _, other in objects):
            continue
        place = image[top : top + side, left : left + side]
        if given is None:
            label = SHAPES[rng.integers(len(SHAPES))]
            place[shape(label, side)] = rng.integers(150, 256, 3)
        else:
            from PIL import Image

            label, picture = given[rng.integers(len(given))]
            place[:] = np.asarray(Image.fromarray(picture).resize((side, side), Image.BILINEAR))
        objects.append((label, box))
    return image, objects


def shape(label, side):
    """Returns which pixels a shape covers, boolean `[side, side]`; it touches all borders."""
    rows, columns = np.mgrid[:side, :side] + 0.5
    if label == "square":
        return np.ones((side, side), bool)
    if label == "disc":
        return (rows - side / 2) ** 2 + (columns - side / 2) ** 2 <= (side / 2) ** 2
    return np.abs(columns - side / 2) <= np.ceil(rows) / 2


def overlap(one, other):
    """Returns the intersection of two boxes as a share of the smaller one."""
    sides = [max(0, min(one[i + 2], other[i + 2]) - max(one[i], other[i])) for i in range(2)]
    return sides[0] * sides[1] / min((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))


def annotation(objects):
    """Returns an XML file of Pascal VOC, whose pixels count from 1 and both ends are inside."""
    found = "".join(
        f"<object><name>{label}</name><bndbox><xmin>{left + 1}</xmin><ymin>{top + 1}</ymin><xmax>{right}</xmax>"
        f"<ymax>{bottom}</ymax></bndbox></object>\n"
        for label, (left, top, right, bottom) in objects
    )
    return f"<annotation>\n{found}</annotation>\n"


if __name__ == "__main__":
    main()
