"""The examples that make recordings and images: what is in the files is what their labels say."""

import pathlib
import runpy
import sys
import zipfile

import numpy as np
import pytest

from zoo.detection.data import open_boxes

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"
RATE = 8_000


@pytest.fixture
def make(monkeypatch):
    """`make(name, *options)` runs an example."""

    def run(name, *options):
        monkeypatch.setattr(sys, "argv", [name, *map(str, options)])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")

    return run


@pytest.fixture
def digits(tmp_path):
    """A table and a zip file of 0, 1 and 2 by two speakers; each recording has a length and a loudness of its own."""
    soundfile = pytest.importorskip("soundfile", reason="soundfile is not installed")
    lines = []
    with zipfile.ZipFile(tmp_path / "sounds.zip", "w") as archive:
        for number, (speaker, digit) in enumerate((speaker, digit) for speaker in "ab" for digit in range(3)):
            name = f"{digit}_{speaker}.wav"
            samples = np.full(1_000 + 100 * number, 1_000 * (number + 1), "int16")
            soundfile.write(tmp_path / name, samples, RATE, subtype="PCM_16")
            archive.write(tmp_path / name, name)
            lines.append(f"{digit}\t{speaker}\t{name}\n")
    (tmp_path / "digits.tsv").write_text("".join(lines), "utf-8")
    return "--data", tmp_path / "digits.tsv", "--audio", tmp_path / "sounds.zip"


def recordings(folder):
    import soundfile

    for line in (folder / "recordings.tsv").read_text("utf-8").splitlines()[1:]:
        name, text = line.split("\t")
        yield soundfile.read(folder / name, dtype="int16")[0], text.split()


def spoken(samples):
    """Returns the numbers of the recordings that are in samples, by their loudness, and the length of each."""
    ends = np.flatnonzero(np.diff(np.concatenate([[0], samples, [0]]))).reshape(-1, 2)
    return [(int(samples[start]) // 1_000 - 1, end - start) for start, end in ends]


def test_connected_digits(make, digits, tmp_path):
    make("connected_digits.py", *digits, "--output", tmp_path / "made", "--count", 40, "--digits", 1, 3, "--single")
    made = [*recordings(tmp_path / "made")]
    assert len(made) == 40 + 6
    for samples, text in made:
        found = spoken(samples)
        assert [str(number % 3) for number, _ in found] == text
        assert all(length == 1_000 + 100 * number for number, length in found)
        assert len({number // 3 for number, _ in found}) == 1  # Of one speaker.
    assert {len(text) for _, text in made[:40]} == {1, 2, 3} and all(samples.all() for samples, _ in made[40:])


@pytest.mark.parametrize("per_class", [None, 1])
def test_scattered_images(make, per_class, tmp_path):
    """Each picture has one colour, whose red tells the class and whose green the picture."""
    image_module = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    for label in range(2):
        (tmp_path / "pictures" / f"class{label}").mkdir(parents=True)
        for picture in range(2):
            colour = np.full((32, 32, 3), (200 + label, 220 + picture, 255), "uint8")
            image_module.fromarray(colour).save(tmp_path / "pictures" / f"class{label}" / f"{picture}.png")
    fewer = ["--per-class", per_class] if per_class else []
    make("scattered_objects.py", "--output", tmp_path / "made.zip", "--images", tmp_path / "pictures", *fewer)
    seen = set()
    for example in [*open_boxes(tmp_path / "made.zip")][:50]:
        image = np.asarray(example.image)
        assert 1 <= len(example.objects) <= 6
        for item in example.objects:
            left, top, right, bottom = map(int, item.box)
            inside = image[top:bottom, left:right].reshape(-1, 3)
            red, green, _ = np.median(inside, axis=0)
            assert item.label == f"class{int(red) - 200}" and 16 <= right - left < 32 and bottom - top == right - left
            seen.add((int(red), int(green)))
    assert len(seen) == (2 if per_class else 4)


@pytest.mark.parametrize("options", [["--per-class", 1], ["--images", "pictures", "--per-class", 0]])
def test_pictures_of_each_class_need_images(make, options, tmp_path, capsys):
    with pytest.raises(SystemExit):
        make("scattered_objects.py", "--output", tmp_path / "made.zip", *options)
    assert "--per-class must be 1 or more, and needs --images" in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]
