"""Images with classes as the rows of a corpus, and random changes of them. NumPy only."""

from dataclasses import dataclass

import numpy as np

from zoo.corpora.batching import Corpus
from zoo.corpora.labelled_corpus import NO_LABEL
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

    def __len__(self):
        return len(self._corpus)

    def lengths(self):
        return self._corpus.lengths()

    def gather(self, rows, widths, fill):
        batch = self._corpus.gather(rows, widths, 0)
        images, changes = batch["images"], self._changes
        if changes.flip:
            images = np.where(self._flipped[rows, None, None, None], images[:, :, ::-1], images)
        if changes.shift:
            images = _shifted(images, self._shifts[rows], changes.shift)
        if changes.colour:
            images = _recoloured(images, self._colours[rows])
        if changes.cutout:
            images = _cut(images, self._centres[rows], changes.cutout)
        return {"images": append_rows(images, fill), "labels": append_rows(batch["labels"], fill, NO_LABEL)}


def _shifted(images, shifts, most):
    padded = np.pad(images, ((0, 0), (most, most), (most, most), (0, 0)))
    height, width = images.shape[1:3]
    rows = shifts[:, :1] + most + np.arange(height)
    columns = shifts[:, 1:] + most + np.arange(width)
    return padded[np.arange(len(images))[:, None, None], rows[:, :, None], columns[:, None]]


def _cut(images, centres, size):
    """Makes squares grey; a square may be partly outside."""
    first = centres - size // 2
    inside = []
    for axis, length in enumerate(images.shape[1:3]):
        places = np.arange(length) - first[:, axis, None]
        inside.append((places >= 0) & (places < size))
    square = inside[0][:, :, None] & inside[1][:, None]
    return np.where(square[..., None], np.uint8(128), images)


def _recoloured(images, factors):
    """Multiplies brightness, then the distance from the mean grey (contrast), then that from each pixel's grey."""
    brightness, contrast, saturation = factors.T[:, :, None, None, None]
    images = images.astype("float32") * brightness
    mean = images.mean((1, 2, 3), keepdims=True)
    images = mean + (images - mean) * contrast
    grey = images.mean(3, keepdims=True)
    return np.clip(grey + (images - grey) * saturation, 0, 255).astype("uint8")
