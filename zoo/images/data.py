"""Readers of images with classes: folders, zip files, tensorflow-datasets. No Keras."""

import os
import typing

import numpy as np

from zoo.corpora.archives import FileArchive
from zoo.corpora.byte_lines import PathLike
from zoo.corpora.reading import DatasetRows, Reader
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


class ClassFiles:
    """Yields (class, name, content) of the files of a folder or zip file, CLASS/FILE, in the order of their names.

    If all files of a zip file are in one folder, its folders are the classes.
    """

    def __init__(self, path: PathLike):
        self._archive = FileArchive(path)

    def __iter__(self):
        names, depth = self._archive.names(), 0
        if self._archive.is_zip and len({name.split("/")[0] for name in names}) == 1:
            depth = 1 if all(name.count("/") > 1 for name in names) else 0
        for name in names:
            parts = name.split("/")[depth:]
            if len(parts) > 1:
                yield parts[0], "/".join(parts), self._archive.read(name)


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
    return ImageReader(ClassFiles(data))


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
