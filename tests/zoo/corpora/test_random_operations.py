"""Each operation of RandAugment does what its name says; all are drawn, in both directions."""

import numpy as np
import pytest

pytest.importorskip("PIL.Image", reason="Pillow is not installed")

from PIL import Image

from zoo.corpora.image_rows import ChangedImages, ImageRows
from zoo.corpora.random_operations import GREY, OPERATIONS, apply_operation, apply_operations
from zoo.training_config import ImageAugmentConfig

RAMP = np.repeat(np.tile(np.arange(40, 200, 10, dtype="uint8"), (16, 1))[..., None], 3, 2)  # 16 x 16, dark to bright.
NOISE = np.random.default_rng(0).integers(0, 256, (16, 16, 3), "uint8")


def changed(name, amount, image=RAMP):
    return np.asarray(apply_operation(Image.fromarray(image), name, amount)).astype(int)


def test_shifts_and_shears_move_pixels_and_leave_grey():
    found = changed("translate_x", 0.5)  # By 0.225 of 16 pixels, 3.6, to the left.
    np.testing.assert_allclose(found[:, :12], RAMP[:, 3:15].astype(int) + 6, atol=1)
    assert (found[:, 13:] == GREY).all() and (changed("translate_x", -0.5)[:, :3] == GREY).all()
    assert (changed("translate_y", 0.5)[13:] == GREY).all() and (changed("translate_y", -0.5)[:3] == GREY).all()
    sheared = changed("shear_x", 1.0)  # Rows move by up to 0.3 * 8 pixels, in opposite directions at top and bottom.
    assert sheared[0, 8].mean() < RAMP[0, 8].mean() - 15 and sheared[-1, 8].mean() > RAMP[-1, 8].mean() + 15
    np.testing.assert_allclose(sheared[7:9, 4:12].mean(0), RAMP[7:9, 4:12].mean(0), atol=4)
    np.testing.assert_array_equal(changed("shear_y", 1.0, RAMP.transpose(1, 0, 2)), sheared.transpose(1, 0, 2))


def test_turning_by_opposite_angles_is_mirrored():
    upside_down = changed("rotate", -0.7, NOISE[::-1])[::-1]
    np.testing.assert_allclose(changed("rotate", 0.7, NOISE), upside_down, atol=2)
    assert np.abs(changed("rotate", 0.7, NOISE) - NOISE).mean() > 20


def test_values():
    assert {*np.unique(changed("posterize", 1.0, NOISE) % 16)} == {0}
    np.testing.assert_array_equal(changed("solarize", 1.0, NOISE), 255 - NOISE.astype(int))
    half = changed("solarize", -0.5, NOISE)
    np.testing.assert_array_equal(half, np.where(NOISE < 128, NOISE, 255 - NOISE.astype(int)))
    np.testing.assert_allclose(changed("brightness", 0.5), np.minimum(RAMP * 1.45, 255), atol=1)
    np.testing.assert_allclose(changed("brightness", -1.0), RAMP * 0.1, atol=1)
    assert changed("auto_contrast", 0.3).min() == 0 and changed("auto_contrast", 0.3).max() == 255
    assert changed("equalize", 0.3, np.tile(RAMP, (8, 8, 1))).std() > 1.2 * RAMP.std()
    assert changed("contrast", -1.0).std() == pytest.approx(RAMP.std() * 0.1, rel=0.2)
    spread = np.ptp(changed("colour", -1.0, NOISE), axis=2).mean() / np.ptp(NOISE, axis=2).mean()
    assert spread == pytest.approx(0.1, abs=0.02)
    assert changed("sharpness", -1.0, NOISE).std() < NOISE.std() < changed("sharpness", 1.0, NOISE).std()
    np.testing.assert_array_equal(changed("identity", 1.0, NOISE), NOISE)


def test_operations_follow_each_other():
    draws = np.array([[(OPERATIONS.index("solarize") + 0.5) / len(OPERATIONS), 0.2]] * 2)
    np.testing.assert_array_equal(apply_operations(NOISE, draws, 1.0), NOISE)  # Inverted twice.
    np.testing.assert_array_equal(apply_operations(NOISE, draws[:1], 1.0), 255 - NOISE)


def test_images_of_a_corpus_change_by_row_and_epoch():
    rows = ImageRows(np.tile(NOISE, (200, 1, 1, 1)), np.zeros(200, "int32"))
    changes = ImageAugmentConfig(random_operations=1, random_magnitude=0.6)
    assert changes and not ImageAugmentConfig(random_magnitude=0.6)
    one, other = (ChangedImages(rows, changes, 3).epoch(epoch) for epoch in (0, 1))
    found = one.gather(np.arange(200), [1], 0)["images"]
    assert 20 <= len(np.unique(found.reshape(200, -1), axis=0)) <= 2 * len(OPERATIONS)
    np.testing.assert_array_equal(one.gather(np.array([7, 5]), [1], 0)["images"], found[[7, 5]])
    assert not np.array_equal(other.gather(np.arange(200), [1], 0)["images"], found)
