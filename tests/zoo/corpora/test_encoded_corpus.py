"""The flat arrays equal the ids of the tokenizer, in memory and in files; files are written atomically."""

import numpy as np
import pytest

from zoo.corpora import encoded_corpus
from zoo.corpora.encoded_corpus import EncodedCorpus, encode_corpus
from zoo.corpora.sampled_corpus import SampledCorpus
from zoo.text.tokenizer_training import train_tokenizer

WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
PAIRS = [(" ".join(WORDS[: i % 11 + 1]), " ".join(WORDS[i % 7 :])) for i in range(83)]
TOKENIZER = train_tokenizer([text for pair in PAIRS for text in pair], 340)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(encoded_corpus, "_CHUNK", 13)


def rows(side):
    return [side.ids[a:b].tolist() for a, b in zip(side.offsets, side.offsets[1:])]


def texts(side):
    return TOKENIZER.decode(rows(side))


def test_ids_equal_those_of_the_tokenizer(tmp_path):
    memory = encode_corpus(iter(PAIRS), TOKENIZER)
    written = encode_corpus(iter(PAIRS), TOKENIZER, folder=tmp_path / "corpus")
    opened = EncodedCorpus.open(tmp_path / "corpus", TOKENIZER)
    for corpus in (memory, written, opened):
        assert len(corpus) == len(PAIRS)
        assert rows(corpus.source) == TOKENIZER.encode([source for source, _ in PAIRS])
        assert rows(corpus.target) == TOKENIZER.encode([target for _, target in PAIRS])
        assert corpus.source.ids.dtype == "uint16"
    assert isinstance(opened.source.ids, np.memmap)
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


def test_a_large_vocabulary_needs_more_than_sixteen_bits():
    class Large:
        vocabulary_size, digest = 70_000, ""

        def encode(self, texts):
            return [[69_999, 65_536] for _ in texts]

        encode_targets = encode

    assert rows(encode_corpus(PAIRS[:2], Large()).source) == [[69_999, 65_536]] * 2


def test_long_pairs_are_left_out_and_counted(tmp_path):
    class Numbered(list):
        def numbered(self):
            return enumerate(self, start=100)

    lengths = [max(map(len, TOKENIZER.encode(pair))) + 1 for pair in PAIRS]
    limit = sorted(lengths)[len(lengths) // 2]
    kept = [pair for pair, length in zip(PAIRS, lengths) if length <= limit]
    long = [100 + i for i, length in enumerate(lengths) if length > limit]
    corpus = encode_corpus(Numbered(PAIRS), TOKENIZER, max_tokens=limit, folder=tmp_path / "c")
    assert list(zip(texts(corpus.source), texts(corpus.target))) == kept
    assert len(long) > 10
    assert (corpus.too_long.count, corpus.too_long.first) == (len(long), long[:10])
    assert max(map(len, rows(corpus.source) + rows(corpus.target))) == limit - 1
    counted = encode_corpus(PAIRS, TOKENIZER, max_tokens=limit)
    assert counted.too_long.first == [line - 99 for line in long[:10]]


@pytest.mark.parametrize("in_files", [False, True])
def test_every_epoch_is_sampled_again_from_the_seed(tmp_path, in_files):
    def corpus(seed, name):
        folder = tmp_path / name if in_files else None
        return SampledCorpus(PAIRS, TOKENIZER, dropout=0.3, seed=seed, folder=folder)

    first, again, other = corpus(1, "a"), corpus(1, "b"), corpus(2, "c")
    epochs = [rows(first.epoch(e).source) for e in (0, 1, 2)]
    assert first.epoch(2) is first.epoch(2)
    assert rows(again.epoch(2).source) == epochs[2], "an epoch does not depend on those before"
    assert rows(again.epoch(0).source) == epochs[0]
    assert rows(other.epoch(0).source) != epochs[0]
    assert epochs[0] != epochs[1] != epochs[2]
    assert texts(first.epoch(1).target) == [target for _, target in PAIRS]
    if in_files:
        assert [path.name for path in (tmp_path / "a").iterdir()] == ["epoch-1"]


def test_dropout_never_changes_which_pairs_are_kept():
    limit = max(max(map(len, TOKENIZER.encode(pair))) + 1 for pair in PAIRS)
    corpus = encode_corpus(PAIRS, TOKENIZER, max_tokens=limit, dropout=0.6, seed=3)
    assert texts(corpus.source) == [source for source, _ in PAIRS]
    assert max(map(len, rows(corpus.source) + rows(corpus.target))) < limit
    assert rows(corpus.source) != TOKENIZER.encode([source for source, _ in PAIRS])


def test_the_two_sides_and_all_chunks_are_sampled_independently():
    text = PAIRS[10][0]
    corpus = encode_corpus([(text, text)] * 13 * 40, TOKENIZER, dropout=0.5, seed=3)
    chunks = [
        tuple(map(tuple, rows(side)[i : i + 13])) for side in (corpus.source, corpus.target) for i in range(0, 520, 13)
    ]
    assert len(set(chunks)) == 80


def test_files_are_written_atomically(tmp_path):
    def broken():
        yield from PAIRS[:40]
        raise OSError("disk on fire")

    with pytest.raises(OSError, match="disk on fire"):
        encode_corpus(broken(), TOKENIZER, folder=tmp_path / "corpus")
    assert list(tmp_path.iterdir()) == []
    encode_corpus(PAIRS, TOKENIZER, folder=tmp_path / "corpus")
    with pytest.raises(ValueError, match="exists already"):
        encode_corpus(PAIRS, TOKENIZER, folder=tmp_path / "corpus")
    (tmp_path / "corpus" / "target.ids").write_bytes(b"12")
    with pytest.raises(ValueError, match=r"target.ids must have \d+ bytes. Received: 2"):
        EncodedCorpus.open(tmp_path / "corpus")


def test_wrong_arguments_are_explained(tmp_path):
    with pytest.raises(ValueError, match="holds no encoded corpus"):
        EncodedCorpus.open(tmp_path / "nowhere")
    encode_corpus(PAIRS, TOKENIZER, folder=tmp_path / "corpus")
    with pytest.raises(ValueError, match="another vocabulary"):
        EncodedCorpus.open(tmp_path / "corpus", train_tokenizer(WORDS, 300))
    with pytest.raises(ValueError, match="No pair is left.*83 pairs.*model.max_length=1 "):
        encode_corpus(PAIRS, TOKENIZER, max_tokens=1, limit="model.max_length")
    with pytest.raises(ValueError, match="No pair is left"):
        encode_corpus([], TOKENIZER)
    with pytest.raises(ValueError, match="generator, which ends after one pass"):
        SampledCorpus((pair for pair in PAIRS), TOKENIZER, dropout=0.1, seed=0)
