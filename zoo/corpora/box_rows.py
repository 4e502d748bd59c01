"""Images with boxes as the rows of a corpus, and random changes of both. NumPy and Pillow."""

from dataclasses import dataclass

import numpy as np

from zoo.corpora.batching import Corpus
from zoo.corpora.image_rows import recoloured
from zoo.corpora.labelled_corpus import NO_LABEL
from zoo.corpora.token_rows import append_rows
from zoo.training_config import BoxAugmentConfig

GREY = 128
"""Value of padding."""
_LEAST_VISIBLE = 0.3  # Share of a box inside of a changed image; an object of which less is seen is left out.


@dataclass(frozen=True, eq=False)
class BoxRows(Corpus):
    """Images of one size with boxes. An image is one position, so `batch_tokens` is the number of images of a batch.

    Args:
        images: Uint8 `[N, H, W, 3]`, padded at the bottom and the right.
        sizes: Int32 `[N, 2]`, rows and columns of each image.
        classes: Int32 `[N, M]`, the class of each object; NO_LABEL after the last.
        boxes: Float32 `[N, M, 4]`, (left, top, right, bottom) in pixels.
    """

    images: np.ndarray
    sizes: np.ndarray
    classes: np.ndarray
    boxes: np.ndarray
    rounds_widths = False

    def __len__(self):
        return len(self.sizes)

    def arrays(self) -> list[np.ndarray]:
        """Returns images, sizes, classes and boxes, which identify the corpus."""
        return [self.images, self.sizes, self.classes, self.boxes]

    def lengths(self) -> list[np.ndarray]:
        """Returns ones `[N]`, in a list of one side."""
        return [np.ones(len(self), "int32")]

    def gather(self, rows: np.ndarray, widths: list[int], fill: int) -> dict[str, np.ndarray]:
        """Returns the chosen rows, followed by `fill` rows of padding; see `batch_of`."""
        return batch_of(self.images[rows], self.sizes[rows], self.classes[rows], self.boxes[rows], fill)


def batch_of(images, sizes, classes, boxes, fill: int = 0) -> dict[str, np.ndarray]:
    """Returns `images` uint8 `[B, H, W, 3]`, `sizes` int32 `[B, 2]` and `labels` float32 `[B, M, 5]`.

    Labels are the number of the class, then (centre x, centre y, width, height) in units of the columns W and the rows
    H. After the last object, the class is NO_LABEL, and the box is 0. In rows of padding all are NO_LABEL: an image
    without objects is no padding.
    """
    height, width = images.shape[1:3]
    units = np.array([width, height], "float32")
    first, last = boxes[..., :2] / units, boxes[..., 2:] / units
    labels = np.concatenate([classes[..., None], (first + last) / 2, last - first], axis=-1).astype("float32")
    labels[classes == NO_LABEL, 1:] = 0
    arrays = {"images": append_rows(images, fill), "sizes": append_rows(sizes.astype("int32"), fill)}
    return {**arrays, "labels": append_rows(labels, fill, NO_LABEL)}


@dataclass(frozen=True, eq=False)
class ChangedBoxes(Corpus):
    """Images with boxes that are changed at random. Every choice depends on seed, epoch and row, so training resumes.

    Args:
        corpus: The images.
        changes: How they are changed.
        seed: Non-negative integer.
    """

    corpus: BoxRows
    changes: BoxAugmentConfig
    seed: int

    def epoch(self, epoch: int) -> "_Epoch":
        """Returns the corpus of an epoch."""
        return _Epoch(self.corpus, self.changes, np.random.default_rng((self.seed, epoch)))


class _Epoch(Corpus):
    """The images of one epoch, changed as they are gathered."""

    rounds_widths = False

    def __init__(self, corpus, changes, rng):
        self._corpus, self._changes = corpus, changes
        count = len(corpus)
        self._draws = rng.random((count, 6))  # Mirrored, turned, size, place, changes of colour follow.
        self._colours = rng.uniform(1 - changes.colour, 1 + changes.colour, (count, 3)).astype("float32")

    def __len__(self):
        return len(self._corpus)

    def lengths(self):
        return self._corpus.lengths()

    def gather(self, rows, widths, fill):
        corpus, changes = self._corpus, self._changes
        classes, boxes = corpus.classes[rows], corpus.boxes[rows]
        images, sizes = np.empty_like(corpus.images[rows]), corpus.sizes[rows]
        for i, row in enumerate(rows):
            image = corpus.images[row, : sizes[i, 0], : sizes[i, 1]]
            images[i], boxes[i], seen = self._changed(image, boxes[i], self._draws[row])
            classes[i][~seen] = NO_LABEL
            sizes[i] = images.shape[1:3]
        if changes.colour:
            images = recoloured(images, self._colours[rows])
        order = np.argsort(classes == NO_LABEL, axis=1, kind="stable")  # Objects that are left come first.
        boxes = np.take_along_axis(boxes, order[..., None], 1)
        return batch_of(images, sizes, np.take_along_axis(classes, order, 1), boxes, fill)

    def _changed(self, image, boxes, draws):
        """Returns the image on a canvas, the boxes on it, and which of them are seen."""
        changes = self._changes
        if changes.flip and draws[0] < 0.5:
            image, boxes = image[:, ::-1], _mirrored(boxes, image.shape[1])
        for _ in range(int(4 * draws[1]) if changes.quarter_turns else 0):
            boxes = _turned(boxes, image.shape[1])
            image = np.rot90(image)
        most = np.log1p(changes.scale)
        factor = np.exp(most * (2 * draws[2] - 1))
        return placed(image, boxes, factor, draws[3:5], self._corpus.images.shape[1:3])


def placed(image, boxes, factor: float, where, canvas) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Resizes an image and places it on a grey canvas, or a part of it if it is larger.

    Args:
        image: Uint8 `[H, W, 3]`.
        boxes: Float `[M, 4]` in pixels.
        factor: The change of the size.
        where: Two numbers in [0, 1): where between the top and the bottom, and between the left and the right.
        canvas: Rows and columns of the canvas.

    Returns:
        The canvas; the boxes on it, cut at its borders; and which of them are seen, boolean `[M]`.
    """
    from PIL import Image

    lengths = np.maximum(1, np.round(factor * np.array(image.shape[:2]))).astype(int)
    gaps = np.array(canvas) - lengths  # Below zero where the image is larger.
    offsets = np.floor(np.array(where) * (np.abs(gaps) + 1)).astype(int) * np.where(gaps < 0, -1, 1)
    first, last = np.maximum(0, -offsets), np.minimum(lengths, np.array(canvas) - offsets)
    scales = lengths / np.array(image.shape[:2])
    source = (first[1] / scales[1], first[0] / scales[0], last[1] / scales[1], last[0] / scales[0])
    size = int(last[1] - first[1]), int(last[0] - first[0])
    part = Image.fromarray(np.ascontiguousarray(image)).resize(size, Image.BILINEAR, box=source)
    whole = np.full((*canvas, 3), GREY, "uint8")
    top, left = np.maximum(0, offsets)
    whole[top : top + size[1], left : left + size[0]] = np.asarray(part)

    moved = boxes * np.tile(scales[::-1], 2) + np.tile(offsets[::-1], 2)
    limits = np.tile(np.array(canvas)[::-1], 2)
    inside = np.clip(moved, 0, limits).astype("float32")
    seen = _areas(inside) >= _LEAST_VISIBLE * np.maximum(_areas(moved), 1e-6)
    return whole, inside, seen


def _areas(boxes):
    return np.prod(np.maximum(0, boxes[:, 2:] - boxes[:, :2]), axis=1)


def _mirrored(boxes, width):
    left, top, right, bottom = boxes.T
    return np.stack([width - right, top, width - left, bottom], axis=1)


def _turned(boxes, width):
    """Returns boxes after a quarter turn of the image to the left, as by `numpy.rot90`."""
    left, top, right, bottom = boxes.T
    return np.stack([top, width - right, bottom, width - left], axis=1)


def fit_to_canvas(image: np.ndarray, rows: int, columns: int) -> tuple[np.ndarray, tuple[int, int]]:
    """Resizes an image `[H, W, 3]` to fit into `rows` and `columns`; returns it on a canvas, and its new size."""
    size = fitted_size(*image.shape[:2], rows, columns)
    canvas = np.full((rows, columns, 3), GREY, "uint8")
    canvas[: size[0], : size[1]] = _resized(image, size)
    return canvas, size


def fit_objects(image: np.ndarray, boxes, rows: int, columns: int) -> tuple[np.ndarray, tuple[int, int], np.ndarray]:
    """Does the same with boxes `[m, 4]` in pixels of the image; returns canvas, new size, and boxes on the canvas."""
    canvas, size = fit_to_canvas(image, rows, columns)
    scale = np.array(size[::-1]) / np.array(image.shape[1::-1])  # x and y.
    return canvas, size, np.array(boxes, "float32").reshape(-1, 4) * np.tile(scale, 2)


def fitted_size(height: int, width: int, rows: int, columns: int) -> tuple[int, int]:
    """Returns the size of an image after it is resized to the largest one that fits, in the same proportions."""
    if height * columns > width * rows:
        return rows, max(1, round(width * rows / height))
    return max(1, round(height * columns / width)), columns


def _resized(image, size):
    from PIL import Image

    if image.shape[:2] == size:
        return image
    return np.asarray(Image.fromarray(image).resize(size[::-1], Image.BILINEAR))


def padded_objects(examples: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Pads the (classes `[m]`, boxes `[m, 4]`) of images; returns int32 `[N, M]` and float32 `[N, M, 4]`."""
    most = max([1, *(len(classes) for classes, _ in examples)])
    classes = np.full((len(examples), most), NO_LABEL, "int32")
    boxes = np.zeros((len(examples), most, 4), "float32")
    for row, (found, places) in enumerate(examples):
        classes[row, : len(found)], boxes[row, : len(found)] = found, places
    return classes, boxes
