"""Tests of readers of labelled texts: reports, columns, errors."""

import numpy as np
import pytest

from zoo.classification.data import Example, class_names, class_numbers, open_examples


def write(path, content):
    path.write_bytes(content)
    return path


def test_examples_and_report(tmp_path):
    path = write(tmp_path / "a.tsv", b"1\tgood film\n\n0\t \n \tgood\n0\tbad \xff\n0\tbad\n")
    reader = open_examples(path)
    assert list(reader) == list(reader) == [Example("1", ("good film",)), Example("0", ("bad",))]
    report = reader.report
    assert (report.lines, report.examples) == (6, 2)
    assert (report.empty.first, report.empty_text.first) == ([2], [3])
    assert (report.empty_label.first, report.broken.first) == ([4], [5])
    assert str(report).startswith("2 examples from 6 lines; 1 empty (line 2); 1 empty label (line 4)")


def test_labels_get_names(tmp_path):
    path = write(tmp_path / "a.tsv", b"0\tawful\n1\tfine\n0\tdull\nother\tsigh\n")
    reader = open_examples(path, label_names={"0": "negative", "1": "positive"})
    assert class_names(reader) == ["negative", "other", "positive"]
    assert [example.label for example in reader] == ["negative", "positive", "negative", "other"]


def test_columns_header_and_pairs(tmp_path):
    path = write(tmp_path / "a.csv", b"text,label,other\nx,yes,y\nz,no,w\n")
    found = list(open_examples(path, columns=(1, 0, 2), header=True))
    assert found == [Example("yes", ("x", "y")), Example("no", ("z", "w"))]
    with pytest.raises(ValueError, match="label and one or two texts. Received: \\(0,\\)"):
        open_examples(path, columns=(0,))


def test_missing_column_raises_with_line(tmp_path):
    path = write(tmp_path / "a.tsv", b"1\tgood\n0\n")
    with pytest.raises(ValueError, match=r"a.tsv, line 2, must have all columns"):
        list(open_examples(path))


def test_classes_are_sorted_and_numbered(tmp_path):
    reader = open_examples(write(tmp_path / "a.tsv", b"10\tx\n9\ty\n10\tz\n"))
    assert class_names(reader) == ["9", "10"]
    assert class_numbers(reader, ["9", "10"]) == ([1, 0, 1], [("x",), ("y",), ("z",)])
    assert class_names([Example("b", ()), Example("A", ()), Example("10", ())]) == ["10", "A", "b"]
    with pytest.raises(ValueError, match="class '9', which is not in the training data. Known classes: 10, 11"):
        class_numbers(reader, ["10", "11"])
    with pytest.raises(ValueError, match=r"at least two classes. Received: \['9'\]"):
        class_names([Example("9", ("x",))])


@pytest.fixture
def prepared(tmp_path):
    """Returns a function that prepares a small data set and returns the function that opens it."""
    tfds = pytest.importorskip("tensorflow_datasets", reason="tensorflow-datasets is not installed")
    pytest.importorskip("importlib_resources", reason="tensorflow-datasets needs it, but does not install it")

    def prepare(name, features, examples):
        label = tfds.features.ClassLabel(names=["negative", "positive"])
        kinds = {"label": label, "text": tfds.features.Text(), "number": tfds.features.Scalar(np.int32)}

        class Builder(tfds.core.GeneratorBasedBuilder, skip_registration=True):
            VERSION = tfds.core.Version("1.0.0")

            def _info(self):
                known = tfds.features.FeaturesDict({feature: kinds[kind] for feature, kind in features.items()})
                return tfds.core.DatasetInfo(builder=self, features=known)

            def _split_generators(self, download_manager):
                return {"train": self._generate_examples()}

            def _generate_examples(self):
                yield from enumerate(examples)

        Builder.name = name
        Builder(data_dir=str(tmp_path)).download_and_prepare()
        return lambda **options: open_examples(f"tfds:{name}", data_dir=tmp_path, **options)

    return prepare


def test_real_tensorflow_dataset(prepared):
    """As in glue/sst2, there is an additional number, and no feature is marked as the label."""
    rows = [{"idx": i, "label": i % 2, "sentence": f"film {i} ß"} for i in range(4)]
    expected = [(("negative", "positive")[i % 2], (f"film {i} ß",)) for i in range(4)]
    open_it = prepared("zoo_tiny_sentiment", {"idx": "number", "label": "label", "sentence": "text"}, rows)
    for features in (None, ("label", "sentence")):
        reader = open_it(features=features)
        assert sorted(reader, key=lambda example: example.texts) == expected
    assert reader.report.examples == 4 and class_names(reader) == ["negative", "positive"]
    with pytest.raises(ValueError, match="among the features of zoo_tiny_sentiment: .*'wort'"):
        open_it(features=("label", "wort"))


def test_tensorflow_dataset_of_pairs(prepared):
    rows = [{"label": i, "premise": "te", "hypothesis": f"lo {i}"} for i in range(2)]
    features = {"label": "label", "premise": "text", "hypothesis": "text"}
    reader = prepared("zoo_tiny_pairs", features, rows)()
    assert sorted((label, *sorted(texts)) for label, texts in reader) == [
        ("negative", "lo 0", "te"),
        ("positive", "lo 1", "te"),
    ]


def test_class_without_example_raises(prepared):
    features = {"label": "label", "text": "text"}
    reader = prepared("zoo_tiny_one_sided", features, [{"label": 1, "text": "te"}] * 3)()
    with pytest.raises(ValueError, match="every class of the data set. Received: none of negative"):
        class_names(reader)
