"""Files of many kinds become arrays; what is no image is named."""

import io

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

from zoo.images.decoding import NoImage, central_box, decode_image, fit_image, read_image  # noqa: E402

RGB = np.random.default_rng(0).integers(0, 256, (5, 7, 3), "uint8")
GREY = RGB[..., 0]


def encoded(image, kind="PNG", **options):
    file = io.BytesIO()
    (Image.fromarray(image) if isinstance(image, np.ndarray) else image).save(file, kind, **options)
    return file.getvalue()


def test_colours_are_kept():
    for kind in ("PNG", "BMP", "TIFF"):
        np.testing.assert_array_equal(decode_image(encoded(RGB, kind)), RGB)
    flat = np.full((16, 16, 3), (200, 30, 90), "uint8")
    assert np.abs(decode_image(encoded(flat, "JPEG", quality=95)).astype(int) - flat).max() < 6


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "PA", "RGBA", "CMYK", "I;16", "I", "F"])
def test_other_modes_become_three_channels(mode):
    """Within the precision of the mode; transparency is left out."""
    if mode in ("I;16", "I"):
        image = Image.fromarray(GREY.astype("uint16" if mode == "I;16" else "int32") * 257)
    elif mode in ("1", "L", "LA", "F"):
        image = Image.fromarray(np.where(GREY > 127, 255, 0).astype("uint8")).convert(mode)
    else:
        image = Image.fromarray(RGB // 128 * 255).convert(mode)
    found = decode_image(encoded(image, "TIFF" if mode in ("I", "F", "PA", "CMYK") else "PNG"))
    assert found.shape == (5, 7, 3) and found.dtype == np.uint8
    if mode in ("I;16", "I"):
        np.testing.assert_array_equal(found, np.repeat(GREY[..., None], 3, 2))
    elif mode in ("1", "L", "LA", "F"):
        np.testing.assert_array_equal(found, np.repeat(np.where(GREY > 127, 255, 0)[..., None], 3, 2))
    else:
        assert np.abs(found.astype(int) - RGB // 128 * 255).mean() < 60


def test_animations_give_their_first_picture():
    pictures = [Image.fromarray(np.full((4, 4), value, "uint8")) for value in (0, 255)]
    content = encoded(pictures[0], "GIF", save_all=True, append_images=pictures[1:])
    assert decode_image(content).max() == 0


def test_photographs_are_turned_upright():
    exif = Image.Exif()
    exif[0x0112] = 6  # Turned by 90 degrees.
    found = decode_image(encoded(RGB, "PNG", exif=exif))
    np.testing.assert_array_equal(found, np.rot90(RGB, -1))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"Where is my hat?", "not_an_image"),
        (encoded(RGB)[:60], "truncated"),
        (encoded(np.tile(RGB, (20, 20, 1)), "JPEG")[:-900], "truncated"),
    ],
)
def test_what_is_no_image_is_refused(content, reason, tmp_path):
    with pytest.raises(NoImage) as error:
        decode_image(content)
    assert error.value.reason == reason
    (tmp_path / "cat.jpg").write_bytes(content)
    with pytest.raises(ValueError, match="cat.jpg: The file must be an image"):
        read_image(tmp_path / "cat.jpg")


def test_bombs_are_refused(monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    with pytest.raises(NoImage) as error:
        decode_image(encoded(RGB))
    assert error.value.reason == "too_large"


def test_images_fit_by_their_middle():
    """A wide image loses its sides, a high one top and bottom; one that fits stays as it is."""
    assert central_box(10, 20, 5, 5) == (0, 5, 10, 10) and central_box(20, 10, 5, 5) == (5, 0, 10, 10)
    assert central_box(3, 100, 4, 4) == (0, 48, 3, 3) and central_box(1, 1, 8, 8) == (0, 0, 1, 1)
    assert fit_image(RGB, 5, 7) is RGB
    stripes = np.zeros((10, 20, 3), "uint8")
    stripes[:, 5:15] = 200
    np.testing.assert_array_equal(fit_image(stripes, 5, 5), np.full((5, 5, 3), 200))


def test_arrays_are_checked():
    np.testing.assert_array_equal(read_image(GREY), np.repeat(GREY[..., None], 3, 2))
    for wrong in (RGB.astype("float32"), RGB[..., :2], np.zeros((0, 4, 3), "uint8"), np.zeros((4, 4, 8), "uint8")):
        with pytest.raises(ValueError, match=r"array uint8 `\[H, W, 3\]`. Received: "):
            read_image(wrong)
