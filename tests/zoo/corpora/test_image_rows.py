"""Random changes of images: what they do, and that they depend on seed, epoch and row alone."""

import numpy as np
import pytest

from zoo.corpora.batching import token_batches
from zoo.corpora.image_rows import ChangedImages, ImageRows, recoloured
from zoo.training_config import ImageAugmentConfig

N, H, W = 40, 6, 8
IMAGES = np.random.default_rng(0).integers(1, 256, (N, H, W, 3), "uint8")
ROWS = ImageRows(IMAGES, np.arange(N, dtype="int32"))
ALL = np.arange(N)


def changed(seed=1, epoch=0, rows=ALL, **changes):
    corpus = ChangedImages(ROWS, ImageAugmentConfig(**changes), seed).epoch(epoch)
    return corpus.gather(rows, [1], 0)["images"]


def test_half_of_the_images_are_mirrored():
    found = changed(flip=True)
    mirrored = (found == IMAGES[:, :, ::-1]).all((1, 2, 3))
    assert (mirrored | (found == IMAGES).all((1, 2, 3))).all() and 8 < mirrored.sum() < 32


def test_images_are_shifted():
    """Each is the image at one of the 25 shifts by up to two pixels, with zeros where nothing was."""
    padded = np.pad(IMAGES, ((0, 0), (2, 2), (2, 2), (0, 0)))
    places = [(i, j) for i in range(5) for j in range(5)]
    options = np.stack([padded[:, i : i + H, j : j + W] for i, j in places])
    equal = (changed(shift=2)[None] == options).all((2, 3, 4))
    assert equal.any(0).all() and equal.any(1).sum() > 12


def test_squares_become_grey():
    found = changed(cutout=3)
    cut = (found != IMAGES).any(-1)
    assert (found[cut] == 128).all() and (cut.sum((1, 2)) <= 9).all() and cut.sum((1, 2)).max() == 9
    for mask in cut[cut.any((1, 2))]:
        rows, columns = np.where(mask.any(1))[0], np.where(mask.any(0))[0]
        assert np.ptp(rows) < 3 and np.ptp(columns) < 3


def test_colours_change_by_the_given_share():
    grey = ImageRows(np.full((N, H, W, 3), 100, "uint8"), ROWS.labels)
    found = ChangedImages(grey, ImageAugmentConfig(colour=0.2), 1).epoch(0).gather(ALL, [1], 0)["images"]
    levels = found.reshape(N, -1)
    assert (np.ptp(levels, axis=1) <= 1).all() and levels.min() >= 79 and levels.max() <= 120
    assert len(np.unique(levels)) > 15
    assert np.abs(changed(colour=0.2).astype(int) - IMAGES).mean() > 3


def test_labels_of_mixed_images_are_right_in_expectation():
    """Images of one colour, which is that of their class: the share of the other colour is that of its labels."""
    classes = np.arange(4000) % 2
    images = np.broadcast_to(classes[:, None, None, None] * 200, (4000, 8, 8, 3)).astype("uint8")
    for name, levels in ("mixup", 3), ("cutmix", 1):
        mixed = ChangedImages(ImageRows(images, classes), ImageAugmentConfig(**{name: 0.5}), 1).epoch(0)
        found = mixed.gather(np.arange(4000), [1], 0)
        shares = np.abs(found["images"].astype(int) - images).mean((1, 2, 3)) / 200
        other = found["labels"] != classes
        assert 800 < np.count_nonzero(shares) < 1200  # A quarter: half of the partners have the same class.
        for low in (0.1, 0.4, 0.7):
            some = (shares > low) & (shares < low + 0.2)
            assert abs(other[some].mean() - shares[some].mean()) < 0.12, (name, low)
        assert not other[shares == 0].any() and (np.unique(found["images"]).size > 2) == (levels > 1)


def test_colours_change_as_one_step_after_another():
    brightness, contrast, saturation = factors = np.array([1.1, 0.8, 0.9])
    image = IMAGES[:1] * np.float64(brightness)
    image = image.mean() + (image - image.mean()) * contrast
    image = image.mean(3, keepdims=True) + (image - image.mean(3, keepdims=True)) * saturation
    np.testing.assert_allclose(recoloured(IMAGES[:1], factors[None].astype("float32")), np.clip(image, 0, 255), atol=1)


def test_changes_depend_on_seed_epoch_and_row_alone():
    options = {"flip": True, "shift": 1, "cutout": 2, "colour": 0.1, "mixup": 0.3, "cutmix": 0.3}
    whole = changed(**options)
    rows = np.array([7, 30, 2])
    np.testing.assert_array_equal(changed(rows=rows, **options), whole[rows])
    assert (changed(epoch=1, **options) != whole).any() and (changed(seed=2, **options) != whole).any()


def test_batches_have_all_images_once():
    corpus = ChangedImages(ROWS, ImageAugmentConfig(flip=True), 1)
    batches = [*token_batches(corpus, 16, seed=1, pad_multiple=8)]
    labels = np.concatenate([batch["labels"] for batch in batches])
    assert {len(batch["images"]) for batch in batches} == {16}
    assert sorted(labels[labels >= 0].tolist()) == ALL.tolist()


def test_settings_are_checked():
    assert not ImageAugmentConfig() and ImageAugmentConfig(shift=1)
    with pytest.raises(ValueError, match=r"`colour` must lie in \[0, 1\]. Received: colour=2"):
        ImageAugmentConfig(colour=2)
    with pytest.raises(ValueError, match=r"`mixup` \+ `cutmix` must be at most 1. Received: mixup=0.6, cutmix=0.5"):
        ImageAugmentConfig(mixup=0.6, cutmix=0.5)
