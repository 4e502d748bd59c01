"""However a file is divided, its parts have all lines once, in order, and parallel files stay parallel."""

import gzip
import random

import pytest

pytest.importorskip("apache_beam")

from zoo.preparation import inputs, line_inputs
from zoo.preparation.inputs import open_inputs


def all_parts(inputs):
    for number, item in enumerate(inputs):
        yield from item.parts(number, [(block, block.count()) for block in item.blocks(number)])


def all_rows(inputs):
    return [(part.number, *row) for part in all_parts(inputs) for row in part.rows()]


@pytest.mark.parametrize("block", [1, 2, 7, 64, 1000])
def test_parts_have_every_line_of_both_sides(block, monkeypatch, tmp_path):
    monkeypatch.setattr(line_inputs, "_BLOCK", block)
    generator, divided = random.Random(block), 0
    for case in range(20):
        count = generator.randrange(1, 30)
        sides = [[b"x" * generator.choice([0, 0, 1, 5, 90]) for _ in range(count)] for _ in range(2)]
        end = generator.choice([b"\n", b"\r\n"])
        for name, lines in zip("ab", sides):
            (tmp_path / name).write_bytes(end.join(lines) + (end if case % 2 or not lines[-1] else b""))
        parts = [*all_parts(open_inputs(str(tmp_path / "a"), str(tmp_path / "b")))]
        divided += len(parts) - 1
        rows = sorted(row for part in parts for row in part.rows())
        assert rows == [(i + 1, cells) for i, cells in enumerate(zip(*sides))]
    assert divided or block == 1000


def test_a_table_is_divided(monkeypatch, tmp_path):
    monkeypatch.setattr(line_inputs, "_BLOCK", 10)
    (tmp_path / "t.tsv").write_bytes(b"a\tb\tc\n\nonly\nd\te\tf\n" * 5)
    inputs = open_inputs(str(tmp_path / "t.tsv"), columns=(2, 0))
    assert len([*all_parts(inputs)]) > 5
    expected = [(b"c", b"a"), (b"", b""), None, (b"f", b"d")] * 5
    assert sorted(all_rows(inputs)) == [(0, i + 1, cells) for i, cells in enumerate(expected)]


def test_gzip_csv_and_parquet_files_are_read(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    (tmp_path / "b").write_bytes(b"\xef\xbb\xbfeins\r\nzwei")
    expected = [(0, 1, (b"one", b"eins")), (0, 2, (b"two", b"zwei"))]
    assert all_rows(open_inputs(str(tmp_path / "a.gz"), str(tmp_path / "b"))) == expected
    (tmp_path / "t.csv").write_bytes(b'"eins\nzwei",one\ndrei,three\n')
    found = all_rows(open_inputs(str(tmp_path / "t.csv"), columns=(1, 0)))
    assert found == [(0, 1, (b"one", b"eins\nzwei")), (0, 2, (b"three", b"drei"))]
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = arrow.table({"de": ["eins", None, "drei"], "en": ["one", "two", "three"]})
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=2)
    inputs = open_inputs(str(tmp_path / "t.parquet"), columns=(0, 1), features=("en", "de"))
    assert len([*all_parts(inputs)]) == 2
    assert all_rows(inputs) == [(0, 1, (b"one", b"eins")), (0, 2, None), (0, 3, (b"three", b"drei"))]
    with pytest.raises(ValueError, match=r"among those of .*t\.parquet: de, en.*Received: en, fr"):
        all_rows(open_inputs(str(tmp_path / "t.parquet"), columns=(0, 1), features=("en", "fr")))


def test_a_data_set_is_read_in_parts(tmp_path, monkeypatch):
    tfds = pytest.importorskip("tensorflow_datasets", reason="tensorflow-datasets is not installed")

    class ZooPreparedPairs(tfds.core.GeneratorBasedBuilder):
        VERSION = tfds.core.Version("1.0.0")

        def _info(self):
            features = tfds.features.Translation(["de", "en"])
            return tfds.core.DatasetInfo(builder=self, features=features, supervised_keys=("de", "en"))

        def _split_generators(self, download_manager):
            return {"train": self._generate_examples()}

        def _generate_examples(self):
            yield from ((i, {"de": f"Satz {i}", "en": f"line {i}"}) for i in range(7))

    tfds.core.add_data_dir(str(tmp_path))
    ZooPreparedPairs(data_dir=str(tmp_path)).download_and_prepare()
    monkeypatch.setattr(inputs, "_EXAMPLES", 3)
    found = open_inputs("tfds:zoo_prepared_pairs", columns=(0, 1), features=("en", "de"))
    assert len([*all_parts(found)]) == 3
    rows = all_rows(found)
    assert [line for _, line, _ in rows] == [*range(1, 8)]
    assert sorted(cells for *_, cells in rows) == [(f"line {i}".encode(), f"Satz {i}".encode()) for i in range(7)]
    assert len(all_rows(open_inputs("tfds:zoo_prepared_pairs", columns=(0, 1), split="train[:3]"))) == 3
    with pytest.raises(ValueError, match="`split` must be one of train"):
        open_inputs("tfds:zoo_prepared_pairs", columns=(0, 1), split="test")


def test_files_of_a_pattern_are_paired_by_name(tmp_path, monkeypatch):
    for name in ("1.en", "2.en", "1.de", "2.de"):
        (tmp_path / name).write_text(f"{name}\n")
    rows = all_rows(open_inputs(str(tmp_path / "*.en"), str(tmp_path / "*.de")))
    assert rows == [(0, 1, (b"1.en", b"1.de")), (1, 1, (b"2.en", b"2.de"))]
    monkeypatch.chdir(tmp_path)
    assert all_rows(open_inputs("*.en", "*.de")) == rows
    (tmp_path / "2.de").unlink()
    with pytest.raises(ValueError, match="same number of files.*2 files.*1 files"):
        open_inputs(str(tmp_path / "*.en"), str(tmp_path / "*.de"))
    with pytest.raises(FileNotFoundError, match=r"\*\.fr, which does not exist"):
        open_inputs(str(tmp_path / "*.en"), str(tmp_path / "*.fr"))
    with pytest.raises(ValueError, match="nowhere://a cannot be listed"):
        open_inputs("nowhere://a", "nowhere://b")


@pytest.mark.parametrize("block", [2, 1000])
def test_files_of_different_length_and_damaged_ones_are_refused(block, monkeypatch, tmp_path):
    monkeypatch.setattr(line_inputs, "_BLOCK", block)
    (tmp_path / "a").write_bytes(b"one\ntwo\nthree\n")
    (tmp_path / "b").write_bytes(b"eins\nzwei")
    with pytest.raises(ValueError, match="same number of lines.*Look for a missing line"):
        all_rows(open_inputs(str(tmp_path / "a"), str(tmp_path / "b")))
    (tmp_path / "c").write_bytes(gzip.compress(b"one\ntwo\n" * 999)[:-9])
    with pytest.raises(ValueError, match="damaged gzip file"):
        all_rows(open_inputs(str(tmp_path / "c")))
