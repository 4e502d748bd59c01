"""Folders and zip files are read in order; what is no image is counted and named."""

import zipfile

import numpy as np
import pytest

pytest.importorskip("PIL.Image", reason="Pillow is not installed")

from zoo.corpora.held_out import hold_out
from zoo.images.data import open_images


@pytest.fixture
def archive(folder, tmp_path):
    """Returns a zip with the images in one folder, hidden files, a damaged one and one that is none."""
    path = tmp_path / "images.zip"
    with zipfile.ZipFile(path, "w") as file:
        for image in sorted(folder.rglob("*.png")):
            file.write(image, f"top/{image.relative_to(folder)}")
        file.writestr("top/red/notes.txt", "no image")
        file.writestr("top/red/half.png", (folder / "red" / "00.png").read_bytes()[:80])
        file.writestr("top/red/none.png", b"")
        file.writestr("__MACOSX/top/red/._00.png", b"x")
    return path


def test_folders_and_zip_files_have_the_same_images(folder, archive):
    one, other = open_images(folder), open_images(archive)
    examples, same = [*one], [*other]
    assert [example.label for example in examples] == ["blue"] * 20 + ["green"] * 20 + ["red"] * 20
    assert [example.name for example in examples][:2] == ["blue/00.png", "blue/01.png"]
    for a, b in zip(examples, same, strict=True):
        assert (a.label, a.name) == (b.label, b.name)
        np.testing.assert_array_equal(a.image, b.image)
    assert str(one.report) == "60 images from 60 files"
    assert str(other.report) == (
        "60 images from 63 files; 1 empty (file red/none.png); 1 not an image (file red/notes.txt); "
        "1 truncated (file red/half.png)"
    )


def test_hidden_files_are_left_out(folder, tmp_path):
    for name in ("a/.hidden.png", ".git/x.png", "top.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((folder / "red" / "00.png").read_bytes())
    assert [*open_images(tmp_path)] == []


def test_a_share_is_held_out(folder):
    train, dev = hold_out(open_images(folder), 0.3)
    names = [[example.name for example in part] for part in (train, dev)]
    assert sorted(names[0] + names[1]) == sorted(example.name for example in open_images(folder))
    assert 5 < len(names[1]) < 30


def test_other_files_are_refused(folder, tmp_path):
    with pytest.raises(ValueError, match="must be a zip file or a folder"):
        open_images(folder / "red" / "00.png")
    with pytest.raises(FileNotFoundError):
        open_images(tmp_path / "missing")
