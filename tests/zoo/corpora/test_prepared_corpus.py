"""A prepared corpus gives its examples from several shards, here or at an address, and tells of any damage."""

import hashlib
import os

import numpy as np
import pytest

pytest.importorskip("google_crc32c")

import google_crc32c

from zoo.corpora import records
from zoo.corpora.batching import BatchStream, token_batches
from zoo.corpora.encoded_corpus import EncodedCorpus
from zoo.corpora.prepared_corpus import FACTS, PreparedCorpus, facts_bytes, is_prepared, shard_name
from zoo.corpora.token_rows import TokenRows
from zoo.text.tokenizer_training import train_tokenizer

RNG = np.random.default_rng(0)
TOKENIZER = train_tokenizer(["one two three"] * 9, 270)
SIZES = 7, 1, 20
SIDES = {name: [RNG.integers(4, 270, RNG.integers(1, 9)) for _ in range(sum(SIZES))] for name in ("source", "target")}
EXPECTED = EncodedCorpus(*(TokenRows.of(rows) for rows in SIDES.values()))


@pytest.fixture
def folder(tmp_path):
    """Writes a corpus of three shards."""
    folder, first, shards = tmp_path / "corpus", 0, []
    folder.mkdir()
    for number, size in enumerate(SIZES):
        rows = {name: TokenRows.of(side[first : first + size]) for name, side in SIDES.items()}
        contents = records.encode_examples(rows)
        file = b"".join(records.frame(content, google_crc32c.value) for content in contents)
        index = records.make_index(contents, {name: side.lengths for name, side in rows.items()}, file)
        name, first = shard_name(number, 3), first + size
        (folder / f"{name}.tfrecord").write_bytes(file)
        (folder / f"{name}.index").write_bytes(index)
        shards.append({"name": name, "examples": size, "index_sha256": hashlib.sha256(index).hexdigest()})
    TOKENIZER.save(folder / "vocabulary.model")
    facts = {"names": ["source", "target"], "tokenizer": TOKENIZER.digest, "shards": shards}
    (folder / FACTS).write_bytes(facts_bytes(facts))
    return folder


def assert_same_batches(corpus, expected, **options):
    found = [*token_batches(corpus, 40, seed=5, **options)]
    wanted = [*token_batches(expected, 40, seed=5, **options)]
    assert len(found) == len(wanted) > 3
    for one, other in zip(found, wanted):
        np.testing.assert_equal(one, other)


def test_batches_are_those_of_one_corpus_in_memory(folder):
    corpus = PreparedCorpus.open(folder)
    assert is_prepared(folder) and len(corpus) == 28 and corpus.tokenizer.digest == TOKENIZER.digest
    for epoch in range(2):
        assert_same_batches(corpus, EXPECTED, epoch=epoch, pad_multiple=1 + 3 * epoch)
    stream = BatchStream(corpus, 40, seed=5, start=(1, 2))
    np.testing.assert_equal(next(iter(stream)), [*token_batches(EXPECTED, 40, seed=5, epoch=1)][2])


def test_a_corpus_at_an_address_is_copied_when_it_is_read(folder, monkeypatch, tmp_path):
    fsspec = pytest.importorskip("fsspec")
    monkeypatch.setenv("KERAS_TRANSFORMER_CACHE", str(tmp_path / "cache"))
    system = fsspec.filesystem("memory")
    system.put(str(folder), "/bucket/corpus", recursive=True)
    corpus = PreparedCorpus.open("memory://bucket/corpus")
    assert is_prepared("memory://bucket/corpus") and not (tmp_path / "cache").exists()
    assert_same_batches(corpus, EXPECTED)
    copies = sorted(path for path in (tmp_path / "cache" / "files").iterdir() if path.suffix != ".lock")
    assert [path.name for path in copies] == sorted(shard.sha256 for shard in corpus.shards)
    for path in system.ls("/bucket/corpus", detail=False):
        if path.endswith(".tfrecord"):
            system.rm(path)
    with pytest.raises(ValueError, match=r"memory://bucket/corpus/shard-00000-of-00003\.tfrecord is missing"):
        PreparedCorpus.open("memory://bucket/corpus")
    assert_same_batches(corpus, EXPECTED, epoch=3)  # From the copies.
    with pytest.raises(ValueError, match="cannot be read"):
        PreparedCorpus.open("nowhere://bucket/corpus")


def test_an_altered_file_at_an_address_is_refused(folder, monkeypatch, tmp_path):
    fsspec = pytest.importorskip("fsspec")
    monkeypatch.setenv("KERAS_TRANSFORMER_CACHE", str(tmp_path / "cache"))
    path = folder / f"{shard_name(2, 3)}.tfrecord"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    fsspec.filesystem("memory").put(str(folder), "/bucket/altered", recursive=True)
    corpus = PreparedCorpus.open("memory://bucket/altered")
    with pytest.raises(ValueError, match=r"shard-00002-of-00003\.tfrecord must have the SHA-256"):
        corpus.gather(np.array([27]), [10, 10], 0)
    assert {path.suffix for path in (tmp_path / "cache" / "files").iterdir()} <= {".lock"}


DAMAGES = {
    "facts": (FACTS, lambda content: content[:-9], "does not describe"),
    "a fact": (FACTS, lambda content: content.replace(b'"tokenizer"', b'"tokenizes"'), "was altered"),
    "facts of another kind": (FACTS, lambda content: b"[]", "does not describe"),
    "vocabulary": ("vocabulary.model", lambda content: train_tokenizer(["four five"] * 9, 270).model, "vocabulary"),
    "index": (f"{shard_name(1, 3)}.index", lambda content: content[:-1] + b"x", "index was altered"),
    "shard": (f"{shard_name(1, 3)}.tfrecord", lambda content: content[:-1], "must have"),
    "record": (f"{shard_name(1, 3)}.tfrecord", lambda content: content[:-6] + b"x" + content[-5:], "was altered"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_corpus_is_refused(damage, folder):
    name, change, message = DAMAGES[damage]
    (folder / name).write_bytes(change((folder / name).read_bytes()))
    with pytest.raises(ValueError, match=message):
        PreparedCorpus.open(folder).gather(np.array([7]), [10, 10], 0)


@pytest.mark.parametrize("name", ["vocabulary.model", f"{shard_name(2, 3)}.index", f"{shard_name(2, 3)}.tfrecord"])
def test_a_missing_file_is_named(name, folder):
    os.remove(folder / name)
    with pytest.raises(ValueError, match=f"{name}.* is missing"):
        PreparedCorpus.open(folder)
    os.remove(folder / FACTS)
    with pytest.raises(ValueError, match="no complete prepared corpus"):
        PreparedCorpus.open(folder)
