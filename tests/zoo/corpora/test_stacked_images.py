"""Tests of images in a temporary file: what was written is read, and nothing is left on the disk or in memory."""

import gc
import pathlib
import tempfile

import numpy as np
import pytest

from zoo.corpora.stacked_images import stack_images

SHAPE = 5, 4, 3


def some(count):
    return np.random.default_rng(0).integers(0, 256, (count, *SHAPE), "uint8")


def test_images_are_those_that_were_given():
    images = some(7)
    found = stack_images((image if i % 2 else np.asfortranarray(image) for i, image in enumerate(images)), SHAPE)
    assert type(found) is np.ndarray and found.dtype == "uint8"
    np.testing.assert_array_equal(found, images)
    np.testing.assert_array_equal(found[[3, 1]], images[[3, 1]])
    changed = found[[0]]
    changed[:] = 0  # A copy.
    assert found[0].any()


def test_no_image():
    assert stack_images([], SHAPE).shape == (0, *SHAPE)


def test_the_file_goes_with_the_array(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = stack_images(some(3), SHAPE)
    assert not [*tmp_path.iterdir()]  # It has no name.

    def mapped():
        return str(tmp_path) in pathlib.Path("/proc/self/maps").read_text()

    assert mapped() and found.any()
    del found
    gc.collect()
    assert not mapped()


def test_a_full_disk_is_told(monkeypatch):
    class Full:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def write(self, data):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", Full)
    with pytest.raises(OSError, match="temporary file in .*could not be written .No space left on device"):
        stack_images(some(1), SHAPE)


def test_errors_of_the_images_are_their_own():
    def broken():
        yield some(1)[0]
        raise OSError("the folder is gone")

    with pytest.raises(OSError, match="^the folder is gone$"):
        stack_images(broken(), SHAPE)


@pytest.mark.parametrize("image", [np.zeros((4, 5, 3), "uint8"), np.zeros(SHAPE, "float32")])
def test_other_images_are_refused(image):
    with pytest.raises(ValueError, match=r"must be uint8 \(5, 4, 3\). Received"):
        stack_images([image], SHAPE)
