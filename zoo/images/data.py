"""Readers of images with classes: folders, zip files, tensorflow-datasets. No Keras."""

import os
import pathlib
import typing
import zipfile

import numpy as np

from zoo.corpora.reading import DatasetRows, PathLike, Reader, existing_path
from zoo.corpora.reports import Report
from zoo.images.decoding import NoImage, read_image


class Example(typing.NamedTuple):
    """An image, uint8 `[H, W, 3]`, its class, and the name of its file."""

    label: str
    image: np.ndarray
    name: str


class ImageReader(Reader):
    """Reads images from files; those that are none are left out, and named in `report`.

    Args:
        files: Iterable of (class, name of the file, content), which can be iterated repeatedly. The content is that of
            a file, or an array as `zoo.images.decoding.read_image` takes it.
        names: All classes, if the data set defines them.
    """

    summary = "{images:,} images from {lines:,} files"
    notes = "empty", "not_an_image", "truncated", "too_large"

    def __init__(self, files: typing.Iterable[tuple[str, str, bytes]], names: typing.Sequence[str] | None = None):
        super().__init__(files)
        self.names = names

    def show(self, example):
        height, width = example.image.shape[:2]
        return f"class: {example.label}   file: {example.name}   size: {width} x {height}"

    def numbered(self):
        self.report = report = Report(self.summary, *self.notes, of="file")
        for number, (label, name, content) in enumerate(self._rows, start=1):
            report.lines = number
            if self.part is not None and not self.part(name):
                continue
            try:
                example = Example(label, read_image(content), name)
            except NoImage as error:
                getattr(report, error.reason).add(name)
                continue
            report.images += 1
            report.first = report.first or (number, example)
            yield number, example


class FolderFiles:
    """Yields the files of a folder of folders, CLASS/FILE, in the order of their names; hidden files are left out."""

    def __init__(self, path: PathLike):
        self._path = existing_path(path)

    def __iter__(self):
        for path in sorted(self._path.rglob("*")):
            parts = path.relative_to(self._path).parts
            if len(parts) > 1 and path.is_file() and not any(part.startswith(".") for part in parts):
                yield parts[0], "/".join(parts), path.read_bytes()


class ZipFiles:
    """Yields the files of a zip file that has folders, CLASS/FILE, in the order of their names.

    Nothing is unpacked, so names cannot lead anywhere. If all files are in one folder, its folders are the classes.

    Raises:
        ValueError: If it is no zip file.
    """

    def __init__(self, path: PathLike):
        self._path = existing_path(path)
        if not zipfile.is_zipfile(self._path):
            raise ValueError(f"{path} must be a zip file or a folder. Received: another file. Pass one of both.")

    def __iter__(self):
        with zipfile.ZipFile(self._path) as archive:
            names = sorted(name for name in archive.namelist() if not name.endswith("/") and not _is_hidden(name))
            tops = {name.split("/")[0] for name in names}
            depth = 1 if len(tops) == 1 and all(name.count("/") > 1 for name in names) else 0
            for name in names:
                parts = name.split("/")[depth:]
                if len(parts) > 1:
                    yield parts[0], "/".join(parts), _content(archive, name)


def open_images(data: PathLike, *, split: str = "train", data_dir: PathLike | None = None) -> ImageReader:
    """Opens images with classes.

    Args:
        data: A folder or a zip file with one folder for each class, or "tfds:NAME" for a data set of
            tensorflow-datasets that has one feature with images and one with classes.
        split, data_dir: As for `zoo.corpora.reading.DatasetRows`.
    """
    if os.fspath(data).startswith("tfds:"):
        name = os.fspath(data).removeprefix("tfds:")
        rows = DatasetRows(name, None, split, data_dir, "features", _image_and_label)
        return ImageReader(_DatasetFiles(rows), rows.names(rows.features[1]))
    return ImageReader(FolderFiles(data) if pathlib.Path(data).is_dir() else ZipFiles(data))


class _DatasetFiles:
    """Yields the images of a data set, as arrays, as files with numbers for names."""

    def __init__(self, rows):
        self._rows = rows

    def __iter__(self):
        for number, (image, label) in enumerate(self._rows):
            yield label.decode(), str(number), image


def _image_and_label(info):
    images = [name for name, feature in info.features.items() if type(feature).__name__ == "Image"]
    labels = [name for name, feature in info.features.items() if hasattr(feature, "names")]
    return [*images, *labels] if len(images) == len(labels) == 1 else []


def _is_hidden(name):
    return any(part.startswith((".", "__MACOSX")) for part in name.split("/"))


def _content(archive, name):
    """Returns the content of a file of a zip, or nothing for a damaged one."""
    try:
        return archive.read(name)
    except (zipfile.BadZipFile, RuntimeError, OSError):  # A wrong checksum, or encrypted.
        return b""
