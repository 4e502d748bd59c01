"""Tests of readers of parallel corpora: alignment of pairs, reports, errors."""

import gzip
import sys
import types

import pytest

from zoo.corpora.encoded_corpus import encode_corpus
from zoo.corpora.reading import read_lines
from zoo.text.tokenizer_training import train_tokenizer
from zoo.translation.data import ParallelText, open_pairs

SOURCE = b"one\n\ntwo words\n  \nfour\nb\xffd\nlast"
TARGET = b"eins\nzwei\n\n\t\nvier\nsechs\nzuletzt\n"
KEPT = [("one", "eins"), ("four", "vier"), ("last", "zuletzt")]


def write(path, content, compress=False):
    path.write_bytes(gzip.compress(content) if compress else content)
    return path


@pytest.mark.parametrize("compress", [False, True])
def test_parallel_text_reports_skipped_lines(tmp_path, compress):
    reader = ParallelText(write(tmp_path / "a.en", SOURCE, compress), write(tmp_path / "a.de", TARGET))
    for _ in range(2):  # A reader can be iterated repeatedly, with a new report.
        assert list(reader) == KEPT
        report = reader.report
        assert (report.lines, report.pairs) == (7, 3)
        assert (report.source_empty.count, report.source_empty.first) == (1, [2])
        assert (report.target_empty.first, report.both_empty.first, report.broken.first) == ([3], [4], [6])
    assert [line for line, _ in reader.numbered()] == [1, 5, 7]
    assert str(report) == (
        "3 pairs from 7 lines; 1 source empty (line 2); 1 target empty (line 3); "
        "1 both empty (line 4); 1 broken (line 6)"
    )


def test_report_keeps_the_first_ten_line_numbers(tmp_path):
    reader = ParallelText(write(tmp_path / "a", b"x\n" * 30), write(tmp_path / "b", b"\n" * 29 + b"y\n"))
    assert list(reader) == [("x", "y")]
    assert (reader.report.target_empty.count, reader.report.target_empty.first) == (29, list(range(1, 11)))
    assert "29 target empty (line 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...)" in str(reader.report)


@pytest.mark.parametrize("source, target", [(b"a\nb\nc", b"a\nb\n"), (b"a\nb", b"a\nb\n\n"), (b"a\nb\n", b"")])
def test_files_of_different_lengths_raise(tmp_path, source, target):
    reader = ParallelText(write(tmp_path / "long.en", source), write(tmp_path / "short.de", target))
    counts = [len(text.splitlines()) for text in (source, target)]
    with pytest.raises(ValueError, match=rf"long.en with {counts[0]} lines, .*short.de with {counts[1]} lines"):
        list(reader)


def test_only_line_feeds_end_a_line(tmp_path):
    marks = "a\u2028b\x0bc\x0cd\x85e\rf"
    reader = ParallelText(
        write(tmp_path / "a", f"\ufeff{marks}\r\nsecond\r\n".encode()), write(tmp_path / "b", b"1\n2\n")
    )
    assert list(reader) == [(marks, "1"), ("second", "2")]


def test_reading_is_lazy(tmp_path):
    reader = iter(ParallelText(write(tmp_path / "a", b"x\n" * 5), write(tmp_path / "b", b"y\n" * 3)))
    assert [next(reader) for _ in range(3)] == [("x", "y")] * 3
    with pytest.raises(ValueError, match="same number"):
        next(reader)


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.tsv.gz"])
def test_tab_separated_columns(tmp_path, name):
    content = b'one\teins\tCC-BY\nno tab\n\n"two"\tzwei\n\tdrei\nfour\t \n'
    path = write(tmp_path / name, content, name.endswith("gz"))
    reader = open_pairs(data=path)
    assert list(reader) == [("one", "eins"), ('"two"', "zwei")]
    report = reader.report
    assert (report.missing_column.first, report.both_empty.first) == ([2], [3])
    assert (report.source_empty.first, report.target_empty.first) == ([5], [6])
    assert list(open_pairs(data=path, columns=(1, 0))) == [("eins", "one"), ("zwei", '"two"')]
    assert list(open_pairs(data=path, columns=(2, 0))) == [("CC-BY", "one")]
    for columns in ((0, 0), (-1, 0), (0, 1, 2)):
        with pytest.raises(ValueError, match="different numbers from 0"):
            open_pairs(data=path, columns=columns)


def test_encoding_keeps_line_numbers(tmp_path):
    path = write(tmp_path / "a.tsv", b"\n\nshort\tkurz\nvery very very long\tlang\n")
    reader = open_pairs(data=path)
    corpus = encode_corpus(reader, train_tokenizer(["short kurz"], 300), max_tokens=10)
    reader.report.too_long = corpus.too_long
    assert (len(corpus), corpus.too_long.first) == (1, [4])
    assert str(reader.report) == "2 pairs from 4 lines; 2 both empty (line 1, 2); 1 too long (line 4)"


def test_damaged_and_missing_files_raise(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere.tsv, which does not exist"):
        open_pairs(data=tmp_path / "nowhere.tsv")
    with pytest.raises(FileNotFoundError, match="nowhere.de"):
        ParallelText(write(tmp_path / "a", b"x"), tmp_path / "nowhere.de")
    whole = gzip.compress(bytes(range(256)) * 400)
    for damaged in (whole[: len(whole) // 2], whole[:30] + b"\0" * 20 + whole[50:], whole[:2]):
        with pytest.raises(ValueError, match="damaged gzip"):
            list(open_pairs(data=write(tmp_path / "b.gz", damaged)))


def test_read_lines_keeps_every_line(tmp_path):
    assert list(read_lines(write(tmp_path / "a", b"x\n\n y \n", compress=True))) == ["x", "", " y "]
    with pytest.raises(ValueError, match="line 2, is not UTF-8"):
        list(read_lines(write(tmp_path / "b", b"x\n\xff\n")))


def test_open_pairs(tmp_path):
    a, b = write(tmp_path / "a", b"x\n"), write(tmp_path / "b", b"y\n")
    tsv = write(tmp_path / "c", b"x\ty\n")
    assert list(open_pairs(source=a, target=str(b))) == [("x", "y")]
    assert list(open_pairs(data=tsv)) == [("x", "y")]
    assert list(open_pairs(data=str(tsv), columns=(1, 0))) == [("y", "x")]
    for wrong in ({}, {"source": a}, {"target": b}, {"source": a, "target": b, "data": tsv}):
        with pytest.raises(ValueError, match="two files, `source` and `target`, or one `data`"):
            open_pairs(**wrong)


class FakeBuilder:
    """The part of a tensorflow-datasets builder that `open_pairs` uses."""

    info = types.SimpleNamespace(
        features={"de": None, "en": None}, supervised_keys=("de", "en"), splits={"train": None}
    )

    def download_and_prepare(self):
        self.prepared = True

    def as_dataset(self, split, shuffle_files):
        assert self.prepared and not shuffle_files
        if split != "train":
            raise ValueError(f"Unknown split {split}")
        return [{"de": b"eins", "en": b"one"}, {"de": b"", "en": b"two"}]


@pytest.fixture
def fake_datasets(monkeypatch):
    monkeypatch.setitem(sys.modules, "importlib_resources", types.SimpleNamespace())

    def builder(name, data_dir):
        if not name.startswith("some"):
            raise ValueError(f"Dataset {name} not found.\nAvailable datasets: many")
        return FakeBuilder()

    module = types.SimpleNamespace(builder=builder, as_numpy=iter)
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", module)


def test_tensorflow_dataset(fake_datasets):
    reader = open_pairs(data="tfds:some/de-en")
    assert list(reader) == list(reader) == [("eins", "one")]
    assert reader.report.source_empty.first == [2]
    assert list(open_pairs(data="tfds:some/de-en", languages=("en", "de"))) == [("one", "eins")]
    with pytest.raises(ValueError, match=r"among the features of some: de, en. Received: \('en', 'fr'\)"):
        open_pairs(data="tfds:some", languages=("en", "fr"))
    with pytest.raises(ValueError, match="Received: 'other': Dataset other not found. See https"):
        open_pairs(data="tfds:other")
    with pytest.raises(ValueError, match="one of train, or a part of it. Received: 'dev'"):
        list(open_pairs(data="tfds:some", split="dev"))


def test_missing_tensorflow_datasets_raises(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    with pytest.raises(ImportError, match="pip install .*tensorflow-datasets"):
        open_pairs(data="tfds:wmt14_translate/de-en")


def test_real_tensorflow_dataset(tmp_path):
    tfds = pytest.importorskip("tensorflow_datasets", reason="tensorflow-datasets is not installed")
    pytest.importorskip("importlib_resources", reason="tensorflow-datasets needs it, but does not install it")

    class ZooTinyTranslate(tfds.core.GeneratorBasedBuilder):
        VERSION = tfds.core.Version("1.0.0")

        def _info(self):
            features = tfds.features.Translation(["de", "en"])
            return tfds.core.DatasetInfo(builder=self, features=features, supervised_keys=("de", "en"))

        def _split_generators(self, download_manager):
            return {"train": self._generate_examples()}

        def _generate_examples(self):
            yield from ((i, {"de": f"Satz {i} ß", "en": f"line {i}"}) for i in range(5))

    ZooTinyTranslate(data_dir=str(tmp_path)).download_and_prepare()
    reader = open_pairs(data="tfds:zoo_tiny_translate", languages=("en", "de"), data_dir=tmp_path)
    assert sorted(reader) == [(f"line {i}", f"Satz {i} ß") for i in range(5)]
    assert list(reader) == list(reader)
    assert len(list(open_pairs(data="tfds:zoo_tiny_translate", split="train[:40%]", data_dir=tmp_path))) == 2
