"""Readers of images with boxes: Pascal VOC's XML, COCO's JSON, tensorflow-datasets. No Keras."""

import json
import math
import os
import posixpath
import typing
import xml.etree.ElementTree

import numpy as np

from zoo.corpora.archives import FileArchive
from zoo.corpora.byte_lines import PathLike, existing_path
from zoo.corpora.reading import DatasetRows, Reader
from zoo.corpora.reports import Report
from zoo.images.decoding import NoImage, read_image


class Object(typing.NamedTuple):
    """An object of an image.

    Args:
        label: Its class.
        box: Left, top, right and bottom in pixels; (0, 0) is the corner of the image, not the centre of a pixel.
        ignored: Whether it neither trains a model nor counts in scores: "difficult" of VOC, "iscrowd" of COCO.
    """

    label: str
    box: tuple[float, float, float, float]
    ignored: bool = False


class Example(typing.NamedTuple):
    """An image, uint8 `[H, W, 3]`, its objects, and the name of its file."""

    image: np.ndarray
    objects: list[Object]
    name: str


class BoxReader(Reader):
    """Reads images with objects. Files that are no images, or have no boxes, are left out and named in `report`.

    Boxes are cut at the borders of the image; those without an area inside are left out and named.

    Args:
        files: Iterable of (name of the file, its content or None for a missing one, its objects or None for a missing
            or broken list), which can be iterated repeatedly.
    """

    summary = "{images:,} images with {objects:,} objects from {lines:,} files"
    notes = "missing", "empty", "not_an_image", "truncated", "too_large", "without_list_of_boxes", "boxes_without_area"

    def show(self, example):
        height, width = example.image.shape[:2]
        return f"file: {example.name}   size: {width} x {height}   objects: {len(example.objects)}"

    def numbered(self):
        self.report = report = Report(self.summary, *self.notes, of="file")
        for number, (name, content, objects) in enumerate(self._rows, start=1):
            report.lines = number
            if self.part is not None and not self.part(name):
                continue
            if content is None or objects is None:
                (report.missing if content is None else report.without_list_of_boxes).add(name)
                continue
            try:
                image = read_image(content)
            except NoImage as error:
                getattr(report, error.reason).add(name)
                continue
            kept = [item._replace(box=_inside(item.box, *image.shape[:2])) for item in objects]
            with_area = [item for item in kept if item.box[0] < item.box[2] and item.box[1] < item.box[3]]
            for _ in range(len(kept) - len(with_area)):
                report.boxes_without_area.add(name)
            example = Example(image, with_area, name)
            report.images += 1
            report.objects += len(with_area)
            report.first = report.first or (number, example)
            yield number, example


class VOCFiles:
    """Yields the images of a folder or zip file and the objects of XML files that have the same name.

    Coordinates of Pascal VOC are numbers of pixels from 1, both ends inside. The files may be in any folders, as
    JPEGImages and Annotations; of files of the same name in several folders, that beside the image counts.
    """

    def __init__(self, path: PathLike):
        self._archive = FileArchive(path)

    def __iter__(self):
        names = self._archive.names()
        lists = [name for name in names if name.lower().endswith(".xml")]
        paths = {_stem(name): name for name in lists} | {_without_suffix(name): name for name in lists}
        used = set()
        for name in names:
            if name.lower().endswith(".xml"):
                continue
            path = paths.get(_without_suffix(name)) or paths.get(_stem(name))
            used.add(path)
            yield name, self._archive.read(name), None if path is None else _voc_objects(self._archive.read(path))
        yield from ((name, None, None) for name in lists if name not in used)


class COCOFiles:
    """Yields the images that a JSON file of COCO lists, with their objects; images without objects count.

    Args:
        path: The JSON file.
        images: Folder or zip file of the images; by default the folder of the JSON file.
    """

    def __init__(self, path: PathLike, images: PathLike | None = None):
        self._path = existing_path(path)
        self._archive = FileArchive(self._path.parent if images is None else images)

    def __iter__(self):
        try:
            content = json.loads(self._path.read_bytes())
            names = {item["id"]: str(item["name"]) for item in content["categories"]}
            files = {item["id"]: str(item["file_name"]) for item in content["images"]}
            objects = {number: [] for number in files}
            for item in content["annotations"]:
                left, top, width, height = map(float, item["bbox"])
                box, ignored = (left, top, left + width, top + height), bool(item.get("iscrowd"))
                objects[item["image_id"]].append(Object(names[item["category_id"]], box, ignored))
        except (KeyError, TypeError, ValueError, UnicodeDecodeError) as error:
            raise ValueError(
                f"{self._path} must be a JSON file of COCO, with `images`, `annotations` and `categories`. Received: "
                f"{type(error).__name__} {error}. Check the file."
            ) from None
        found = self._archive.names()
        paths = {posixpath.basename(path): path for path in found} | {path: path for path in found}
        for number, name in files.items():
            path = paths.get(name) or paths.get(posixpath.basename(name))
            yield name, None if path is None else self._archive.read(path), objects[number]


class DatasetFiles:
    """Yields the images of a data set of tensorflow-datasets, as files with numbers for names."""

    def __init__(self, name: str, split: str, data_dir: PathLike | None):
        self._rows = DatasetRows(name, None, split, data_dir, "features", _image_and_objects)
        labels = self._rows.known[self._rows.features[1]]["label"]
        self._name = labels.int2str if getattr(labels, "names", None) else str

    def __iter__(self):
        for number, (image, objects) in enumerate(self._rows):
            (height, width), found = image.shape[:2], []
            crowd = objects.get("is_crowd", objects.get("is_difficult", np.zeros(len(objects["label"]), bool)))
            for (top, left, bottom, right), label, ignored in zip(objects["bbox"], objects["label"], crowd):
                box = left * width, top * height, right * width, bottom * height
                found.append(Object(self._name(label), tuple(map(float, box)), bool(ignored)))
            yield str(number), image, found


def open_boxes(
    data: PathLike, *, images: PathLike | None = None, split: str = "train", data_dir: PathLike | None = None
) -> BoxReader:
    """Opens images with objects.

    Args:
        data: A folder or zip file as for `VOCFiles`, a JSON file as for `COCOFiles`, or "tfds:NAME".
        images: For a JSON file: see `COCOFiles`.
        split, data_dir: As for `zoo.corpora.reading.DatasetRows`.
    """
    name = os.fspath(data)
    is_json = name.lower().endswith(".json")
    if images is not None and not is_json:
        raise ValueError(f"`images` is for a JSON file of COCO. Received: images={images} with data={data}. Omit it.")
    if name.startswith("tfds:"):
        return BoxReader(DatasetFiles(name.removeprefix("tfds:"), split, data_dir))
    return BoxReader(COCOFiles(data, images) if is_json else VOCFiles(data))


def _without_suffix(name):
    return posixpath.splitext(name)[0]


def _stem(name):
    return _without_suffix(posixpath.basename(name))


def _voc_objects(content):
    """Returns the objects of an XML file of Pascal VOC; None for a broken one."""
    try:
        found = []
        for item in xml.etree.ElementTree.fromstring(content).iter("object"):
            box = item.find("bndbox")
            left, top, right, bottom = (float(box.find(side).text) for side in ("xmin", "ymin", "xmax", "ymax"))
            ignored = (item.findtext("difficult") or "0").strip() == "1"
            found.append(Object(item.find("name").text.strip(), (left - 1, top - 1, right, bottom), ignored))
        return found
    except (xml.etree.ElementTree.ParseError, AttributeError, TypeError, ValueError):
        return None


def _inside(box, height, width):
    """Cuts a box at the borders of an image; one that is not finite becomes empty."""
    if not all(map(math.isfinite, box)):
        return 0.0, 0.0, 0.0, 0.0
    left, top, right, bottom = box
    return max(0.0, left), max(0.0, top), min(float(width), right), min(float(height), bottom)


def _image_and_objects(info):
    images = [name for name, feature in info.features.items() if type(feature).__name__ == "Image"]
    objects = [name for name, feature in info.features.items() if _has_boxes(feature)]
    return [*images, *objects] if len(images) == len(objects) == 1 else []


def _has_boxes(feature):
    try:
        return {"bbox", "label"} <= {*feature.keys()}
    except AttributeError:
        return False
