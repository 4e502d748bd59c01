"""Images with classes as the rows of a corpus, and random changes of them. NumPy only."""

from dataclasses import dataclass

import numpy as np

from zoo.corpora.batching import Corpus
from zoo.corpora.labelled_corpus import NO_LABEL
from zoo.corpora.random_operations import apply_operations
from zoo.corpora.token_rows import append_rows
from zoo.training_config import ImageAugmentConfig


@dataclass(frozen=True, eq=False)
class ImageRows(Corpus):
    """Images of one size with classes. An image is one position, so `batch_tokens` is the number of images of a batch.

    Args:
        images: Uint8 `[N, H, W, 3]`.
        labels: Int32 `[N]`.
    """

    images: np.ndarray
    labels: np.ndarray
    rounds_widths = False

    def __len__(self):
        return len(self.labels)

    def arrays(self) -> list[np.ndarray]:
        """Returns images and classes, which identify the corpus."""
        return [self.images, self.labels]

    def lengths(self) -> list[np.ndarray]:
        """Returns ones `[N]`, in a list of one side."""
        return [np.ones(len(self), "int32")]

    def gather(self, rows: np.ndarray, widths: list[int], fill: int) -> dict[str, np.ndarray]:
        """Returns the chosen `images`, uint8 `[B, H, W, 3]`, and `labels`, int32 `[B]`, with `fill` rows of padding."""
        labels = append_rows(self.labels[rows].astype("int32"), fill, NO_LABEL)
        return {"images": append_rows(self.images[rows], fill), "labels": labels}


@dataclass(frozen=True, eq=False)
class ChangedImages(Corpus):
    """Images that are changed at random. Every choice depends on the seed, the epoch and the row, so training resumes.

    Keras's layers for augmentation draw from a stream of random numbers instead, which cannot start in the middle.

    Args:
        corpus: The images.
        changes: How they are changed.
        seed: Non-negative integer.
    """

    corpus: ImageRows
    changes: ImageAugmentConfig
    seed: int

    def epoch(self, epoch: int) -> "_Epoch":
        """Returns the corpus of an epoch."""
        return _Epoch(self.corpus, self.changes, np.random.default_rng((self.seed, epoch)))


class _Epoch(Corpus):
    """The images of one epoch, changed as they are gathered."""

    rounds_widths = False

    def __init__(self, corpus, changes, rng):
        self._corpus, self._changes = corpus, changes
        count, (height, width) = len(corpus), corpus.images.shape[1:3]
        self._flipped = rng.random(count) < 0.5
        self._shifts = rng.integers(-changes.shift, changes.shift + 1, (count, 2))
        self._centres = rng.integers(0, (height, width), (count, 2))
        self._colours = rng.uniform(1 - changes.colour, 1 + changes.colour, (count, 3)).astype("float32")
        self._partners = rng.integers(0, count, count)
        self._operations = rng.random((count, changes.random_operations, 2))
        self._mixing = rng.random((count, 5))  # Which way, share of the partner, corner of the rectangle, label.

    def __len__(self):
        return len(self._corpus)

    def lengths(self):
        return self._corpus.lengths()

    def gather(self, rows, widths, fill):
        images, labels = self._changed(rows), self._corpus.labels[rows].astype("int32")
        ways, changes = self._mixing[rows, 0], self._changes
        mixed = np.flatnonzero(ways < changes.mixup + changes.cutmix)
        partners = self._partners[rows[mixed]]
        others = self._changed(partners)
        for place, partner, other, draws in zip(mixed, partners, others, self._mixing[rows[mixed]]):
            mix = _blend if draws[0] < changes.mixup else _paste
            if draws[4] < mix(images[place], other, *draws[1:4]):
                labels[place] = self._corpus.labels[partner]
        return {"images": append_rows(images, fill), "labels": append_rows(labels, fill, NO_LABEL)}

    def _changed(self, rows):
        images, changes = self._corpus.images[rows], self._changes
        if changes.flip:
            flipped = self._flipped[rows]
            images[flipped] = images[flipped][:, :, ::-1]
        if changes.shift:
            images = _shifted(images, self._shifts[rows], changes.shift)
        if changes.colour:
            images = recoloured(images, self._colours[rows])
        if changes.random_operations:
            for image, draws in zip(images, self._operations[rows]):
                image[:] = apply_operations(image, draws, changes.random_magnitude)
        if changes.cutout:
            for image, (row, column) in zip(images, self._centres[rows] - changes.cutout // 2):
                image[max(0, row) : row + changes.cutout, max(0, column) : column + changes.cutout] = 128
        return images


def _shifted(images, shifts, most):
    padded = np.pad(images, ((0, 0), (most, most), (most, most), (0, 0)))
    height, width = images.shape[1:3]
    for image, source, (row, column) in zip(images, padded, shifts + most):
        image[:] = source[row : row + height, column : column + width]
    return images


def recoloured(images, factors):
    """Multiplies brightness, then the distance from the mean grey (contrast), then that from each pixel's grey."""
    brightness, contrast, saturation = factors.T[:, :, None, None, None]
    images = images.astype("float32")
    mean = images.mean((1, 2, 3), keepdims=True) * brightness * (1 - contrast)
    images *= brightness * contrast
    grey = images.mean(3, keepdims=True) * (1 - saturation) + mean
    images *= saturation
    images += grey
    return np.clip(images, 0, 255, out=images).astype("uint8")


def _blend(image, other, share, *_):
    """Blends an image with another one, in place, and returns the share of the other."""
    image[:] = (image * (1 - share) + other * share).astype("uint8")
    return share


def _paste(image, other, share, vertical, horizontal):
    """Copies a rectangle of about this share of the other image, in place, and returns its exact share."""
    sizes = [round(length * share**0.5) for length in image.shape[:2]]
    first = [int(draw * (length - size + 1)) for draw, length, size in zip((vertical, horizontal), image.shape, sizes)]
    inside = tuple(slice(start, start + size) for start, size in zip(first, sizes))
    image[inside] = other[inside]
    return sizes[0] * sizes[1] / (image.shape[0] * image.shape[1])
