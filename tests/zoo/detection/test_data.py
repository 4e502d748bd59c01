"""Boxes of Pascal VOC, COCO and tensorflow-datasets are the same; what is broken is counted and named."""

import json
import zipfile

import numpy as np
import pytest

from zoo.detection.data import open_boxes


def contents(reader):
    return [(example.name, [(item.label, item.box) for item in example.objects]) for example in reader]


@pytest.fixture
def coco(folder, drawn, tmp_path):
    """Returns a JSON file of COCO of the images in the folder, where the second object is a crowd."""
    labels = {"bright": 7, "dark": 3}
    annotations = [
        {
            "image_id": number,
            "category_id": labels[label],
            "bbox": [left, top, right - left, bottom - top],
            "iscrowd": int(place == 1),
        }
        for number, (_, objects) in enumerate(drawn)
        for place, (label, (left, top, right, bottom)) in enumerate(objects)
    ]
    content = {
        "images": [{"id": number, "file_name": f"{number:02d}.png"} for number in range(len(drawn))],
        "categories": [{"id": number, "name": label} for label, number in labels.items()],
        "annotations": annotations,
    }
    path = tmp_path / "instances.json"
    path.write_text(json.dumps(content))
    return path


def test_all_formats_have_the_same_boxes(folder, drawn, coco, tmp_path):
    archive = tmp_path / "boxes.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in folder.iterdir():
            file.write(path, f"VOC/{'Annotations' if path.suffix == '.xml' else 'JPEGImages'}/{path.name}")
    expected = [[(label, tuple(map(float, box))) for label, box in objects] for _, objects in drawn]
    for reader in (open_boxes(folder), open_boxes(archive), open_boxes(coco, images=folder)):
        examples = [*reader]
        assert [[(item.label, item.box) for item in example.objects] for example in examples] == expected
        for example, (image, _) in zip(examples, drawn):
            np.testing.assert_array_equal(example.image, image)
        total = sum(map(len, expected))
        assert str(reader.report) == f"40 images with {total} objects from 40 files"
    ignored = [[item.ignored for item in example.objects] for example in open_boxes(coco, images=folder)]
    assert all(flags == [place == 1 for place in range(len(flags))] for flags in ignored)
    assert not any(item.ignored for example in open_boxes(folder) for item in example.objects)


def test_the_list_beside_an_image_counts(folder, tmp_path):
    for name in ("train/a.png", "val/a.png"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes((folder / "00.png").read_bytes())
    for name, label in (("train/a.xml", "one"), ("val/a.xml", "two")):
        text = (folder / "00.xml").read_text().replace("bright", label).replace("dark", label)
        (tmp_path / name).write_text(text)
    found = contents(open_boxes(tmp_path))
    assert [(name, {label for label, _ in objects}) for name, objects in found] == [
        ("train/a.png", {"one"}),
        ("val/a.png", {"two"}),
    ]


def test_broken_files_are_counted_and_named(folder, tmp_path):
    xml = (folder / "00.xml").read_text()
    image = (folder / "00.png").read_bytes()
    files = {"a.png": image, "a.xml": xml.encode(), "b.png": b"", "b.xml": xml.encode(), "c.png": b"no image"}
    files |= {"c.xml": xml.encode(), "d.png": image, "e.xml": xml.encode(), "f.png": image, "f.xml": b"<annotation>"}
    files |= {"g.png": image[:100], "g.xml": xml.encode(), "h.png": image, ".i.png": image}
    wrong = xml.replace("<object>", "<object><name>x</name><bndbox><xmin>1</xmin></bndbox></object><object>", 1)
    files["h.xml"] = wrong.encode()
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    reader = open_boxes(tmp_path)
    assert [name for name, _ in contents(reader)] == ["a.png"]
    assert str(reader.report).partition("; ")[2] == (
        "1 missing (file e.xml); 1 empty (file b.png); 1 not an image (file c.png); 1 truncated (file g.png); "
        "3 without list of boxes (file d.png, f.png, h.png)"
    )


@pytest.mark.parametrize(
    "box, expected",
    [
        ((0, 0, 40, 50), (0, 0, 32, 32)),
        ((-9, 4, 5, 8), (0, 3, 5, 8)),
        ((40, 40, 50, 50), None),
        ((5, 5, 4, 9), None),
        (("nan", 1, 5, 5), None),
        (("inf", 1, 5, 5), None),
    ],
)
def test_boxes_end_at_the_borders(folder, tmp_path, box, expected):
    (tmp_path / "a.png").write_bytes((folder / "00.png").read_bytes())
    sides = "".join(f"<{name}>{side}</{name}>" for name, side in zip(("xmin", "ymin", "xmax", "ymax"), box))
    text = f"<annotation><object><name> x </name><bndbox>{sides}</bndbox></object></annotation>"
    (tmp_path / "a.xml").write_text(text)
    reader = open_boxes(tmp_path)
    assert contents(reader) == [("a.png", [] if expected is None else [("x", expected)])]
    assert reader.report.boxes_without_area.count == (expected is None)


@pytest.mark.parametrize("change", [{"images": None}, {"categories": []}, {"annotations": [{"image_id": 0}]}])
def test_wrong_json_is_refused(coco, folder, change):
    coco.write_text(json.dumps(json.loads(coco.read_text()) | change))
    with pytest.raises(ValueError, match="must be a JSON file of COCO"):
        [*open_boxes(coco, images=folder)]


def test_json_may_name_missing_images(coco, folder):
    content = json.loads(coco.read_text())
    content["images"].append({"id": 99, "file_name": "train/99.png"})
    coco.write_text(json.dumps(content))
    reader = open_boxes(coco, images=folder)
    assert len([*reader]) == 40 and reader.report.missing.first == ["train/99.png"]


def test_wrong_arguments_are_refused(folder, tmp_path):
    with pytest.raises(ValueError, match="`images` is for a JSON file"):
        open_boxes(folder, images=folder)
    with pytest.raises(FileNotFoundError):
        open_boxes(tmp_path / "missing")
    with pytest.raises(ValueError, match="must be a zip file or a folder"):
        open_boxes(folder / "00.png")


def test_data_sets_have_the_same_boxes(drawn, tmp_path):
    tfds = pytest.importorskip("tensorflow_datasets", reason="tensorflow-datasets is not installed")

    class Drawn(tfds.core.GeneratorBasedBuilder):
        """Images with boxes."""

        VERSION = tfds.core.Version("1.0.0")

        def _info(self):
            names = tfds.features.ClassLabel(names=["bright", "dark"])
            objects = tfds.features.Sequence({"bbox": tfds.features.BBoxFeature(), "label": names})
            features = tfds.features.FeaturesDict(
                {"image": tfds.features.Image(encoding_format="png"), "objects": objects}
            )
            return self.dataset_info_from_configs(features=features)

        def _split_generators(self, manager):
            return {"train": self._generate_examples()}

        def _generate_examples(self):
            for number, (image, objects) in enumerate(drawn):
                found = []
                for label, (left, top, right, bottom) in objects:
                    sides = (side / 32 for side in (top, left, bottom, right))
                    found.append({"bbox": tfds.features.BBox(*sides), "label": label})
                yield number, {"image": image, "objects": found}

    Drawn(data_dir=tmp_path).download_and_prepare()
    found = [*open_boxes("tfds:drawn", data_dir=tmp_path)]
    key = sorted((example.image.tobytes(), [(item.label, item.box) for item in example.objects]) for example in found)
    known = sorted(
        (image.tobytes(), [(label, tuple(map(float, box))) for label, box in objects]) for image, objects in drawn
    )
    assert [pixels for pixels, _ in key] == [pixels for pixels, _ in known]
    for (_, one), (_, other) in zip(key, known):
        assert [label for label, _ in one] == [label for label, _ in other]
        np.testing.assert_allclose([box for _, box in one], [box for _, box in other], atol=1e-4)
