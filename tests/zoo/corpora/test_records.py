"""Records are those of TensorFlow, and any of them is found by its number."""

import pathlib

import numpy as np
import pytest
import tensorflow as tf

from zoo.corpora import records
from zoo.corpora.token_rows import TokenRows

google_crc32c = pytest.importorskip("google_crc32c")

RNG = np.random.default_rng(0)
ROWS = {
    "source": TokenRows.of([RNG.integers(0, 2**31 - 1, n) for n in (0, 1, 3, 200)] + [[0, 127, 128, 16383, 16384]]),
    "target": TokenRows.of([RNG.integers(0, 200, n) for n in (70, 0, 1, 5, 9)]),
}


def shard():
    contents = records.encode_examples(ROWS)
    file = b"".join(records.frame(content, google_crc32c.value) for content in contents)
    return contents, file, records.make_index(contents, {name: rows.lengths for name, rows in ROWS.items()}, file)


def test_tensorflow_reads_the_file_and_its_examples(tmp_path):
    path = tmp_path / "a.tfrecord"
    path.write_bytes(shard()[1])
    features = {name: tf.io.RaggedFeature(tf.int64) for name in ROWS}
    found = [*tf.data.TFRecordDataset(str(path)).map(lambda text: tf.io.parse_single_example(text, features))]
    assert len(found) == 5
    for i, example in enumerate(found):
        for name, rows in ROWS.items():
            np.testing.assert_array_equal(example[name], rows.row(i))


def test_examples_of_tensorflow_are_decoded():
    def example(*values):
        lists = {name: tf.train.Int64List(value=row) for name, row in zip("ab", values)}
        features = {name: tf.train.Feature(int64_list=values) for name, values in lists.items()}
        return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()

    given = [([1, 300, 2**40], []), ([], [0] * 200), ([5], [7])]
    found = records.decode_examples([example(*values) for values in given], ["b", "a"])
    assert [[row.tolist() for row in rows] for rows in found] == [[b for _, b in given], [a for a, _ in given]]
    with pytest.raises(ValueError, match="feature 'c'.*: (a, b|b, a)"):
        records.decode_examples([example([1], [2])], ["c"])
    for wrong in (example([1], [2])[:-1], b"\x08\x01", b"text"):
        with pytest.raises(ValueError, match=r"tf\.train\.Example|feature"):
            records.decode_examples([wrong], ["a"])


def open_shard(tmp_path, file, index):
    path = tmp_path / "shard"
    path.write_bytes(file)
    return records.RecordFile(index, lambda digest: path, "the shard")


def test_records_are_found_by_their_numbers(tmp_path):
    contents, file, index = shard()
    found = open_shard(tmp_path, file, index)
    assert len(found) == 5 and found.contents([3, 0, 3]) == [contents[3], contents[0], contents[3]]
    for name, rows in ROWS.items():
        np.testing.assert_array_equal(found.lengths[name], rows.lengths)


@pytest.mark.parametrize("damage", ["cut", "bit", "index", "empty index"])
def test_damage_is_found(damage, tmp_path):
    contents, file, index = shard()
    if damage == "cut":
        file = file[:-1]
    elif damage == "bit":
        place = file.index(contents[3]) + 20
        file = file[:place] + bytes([file[place] ^ 4]) + file[place + 1 :]
    else:
        index = index[:-3] if damage == "index" else b""
    with pytest.raises(ValueError, match="the shard"):
        open_shard(tmp_path, file, index).contents(np.arange(5))


def test_the_file_is_opened_by_its_digest_when_it_is_needed(tmp_path):
    _, file, index = shard()
    asked = []
    path = pathlib.Path(tmp_path / "shard")
    path.write_bytes(file)
    found = records.RecordFile(index, lambda digest: asked.append(digest) or path, "the shard")
    assert not asked
    found.contents([1])
    found.contents([2])
    assert asked == [found.sha256]
