"""Each pair is in one batch of an epoch, batches are not too large, and a seed determines their order."""

import collections
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.corpora.batching import (
    BatchStream,
    length_sorted_chunks,
    original_order,
    padding_share,
    source_batch,
    token_batches,
)
from zoo.corpora.encoded_corpus import EncodedCorpus
from zoo.corpora.token_rows import TokenRows


def corpus_of(source, target):
    sides = []
    for rows in (source, target):
        flat = np.array(list(itertools.chain.from_iterable(rows)), "uint16")
        sides.append(TokenRows(flat, np.cumsum([0, *map(len, rows)])))
    return EncodedCorpus(*sides)


def random_corpus(pairs, mean=12, seed=0):
    """Makes pairs identified by their first two source ids, with correlated lengths."""
    rng = np.random.default_rng(seed)
    source = rng.poisson(mean, pairs) + 2
    target = np.maximum(0, source + rng.normal(0, 2.5, pairs).round().astype(int))
    return corpus_of(
        [[4 + i // 500, 4 + i % 500] + rng.integers(4, 999, n - 2).tolist() for i, n in enumerate(source)],
        [rng.integers(4, 999, n).tolist() for n in target],
    )


def pairs_of(batches):
    """Returns the pairs of batches after checking and removing special ids."""
    for batch in batches:
        assert batch.keys() == {"source", "target"}
        for source, target in zip(batch["source"].tolist(), batch["target"].tolist(), strict=True):
            if not any(source):  # A row of padding.
                assert not any(target)
                continue
            source, target = (np.trim_zeros(row, "b") for row in (source, target))
            assert source[-1] == target[-1] == 3 and target[0] == 2
            assert min(source[:-1] + target[1:-1], default=4) >= 4
            yield tuple(source[:-1]), tuple(target[1:-1])


def counted(corpus):
    rows = [
        [tuple(s.ids[a:b].tolist()) for a, b in itertools.pairwise(s.offsets)] for s in (corpus.source, corpus.target)
    ]
    return collections.Counter(zip(*rows))


def same(batches, others):
    batches, others = list(batches), list(others)
    return len(batches) == len(others) and all(
        np.array_equal(a[side], b[side]) for a, b in zip(batches, others) for side in a
    )


LENGTHS = st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), min_size=1, max_size=60)


@settings(max_examples=150, deadline=None)
@given(LENGTHS, st.integers(24, 200), st.integers(0, 3), st.sampled_from([1, 2, 8]))
def test_every_pair_once_and_no_batch_too_large(lengths, batch_tokens, seed, pad_multiple):
    rng = np.random.default_rng(seed)
    corpus = corpus_of(*([rng.integers(4, 99, n).tolist() for n in side] for side in zip(*lengths)))
    batches = list(token_batches(corpus, batch_tokens, seed=seed, pad_multiple=pad_multiple))
    assert collections.Counter(pairs_of(batches)) == counted(corpus)
    rows_of = {}
    for batch in batches:
        (rows, steps), (same_rows, target_steps) = batch["source"].shape, batch["target"].shape
        assert rows == same_rows and rows * max(steps, target_steps - 1) <= batch_tokens
        assert steps % pad_multiple == 0 and (target_steps - 1) % pad_multiple == 0
        assert all(ids.dtype == np.int32 for ids in batch.values())
        if pad_multiple == 1:
            assert batch["source"][:, -1].any() and batch["target"][:, -1].any(), "no column of padding alone"
        else:
            assert rows % 8 == 0 or rows < 8
            assert rows_of.setdefault((steps, target_steps), rows) == rows, "one shape for a pair of lengths"


def test_padding_is_small_for_lengths_of_captions():
    corpus = random_corpus(20_000)
    batches = list(token_batches(corpus, 4096, seed=0))
    assert padding_share(batches) < 0.05
    filled = [len(b["source"]) * max(b["source"].shape[1], b["target"].shape[1] - 1) for b in batches]
    assert np.mean(filled) > 0.95 * 4096


def test_padding_share_counts_both_sides():
    batch = {"source": np.array([[5, 3], [3, 0]]), "target": np.array([[2, 5, 5, 3], [2, 3, 0, 0]])}
    assert padding_share([batch, batch]) == 3 / 10
    assert padding_share([]) == 0


def test_order_depends_on_seed_and_epoch_alone():
    corpus = random_corpus(600)

    def batches(seed, epoch):
        return list(token_batches(corpus, 512, seed=seed, epoch=epoch))

    assert same(batches(1, 3), batches(1, 3))
    assert not same(batches(1, 3), batches(1, 4))
    assert not same(batches(1, 3), batches(2, 3))
    first, second = ({frozenset(pairs_of([batch])) for batch in batches(1, epoch)} for epoch in (0, 1))
    assert len(first & second) < len(first) / 2, "epochs group the pairs differently"
    widths = [max(batch["source"].shape[1], batch["target"].shape[1] - 1) for batch in batches(1, 0)]
    assert widths != sorted(widths) and widths != sorted(widths, reverse=True)


def test_stream_concatenates_epochs_and_resumes_anywhere():
    corpus = random_corpus(200)
    epochs = [list(token_batches(corpus, 512, seed=5, epoch=epoch)) for epoch in range(4)]
    expected = list(itertools.chain.from_iterable(epochs))
    stream = BatchStream(corpus, 512, seed=5)
    given = list(itertools.islice(stream, len(expected)))
    assert same(given, expected)
    for consumed in range(len(expected)):
        start = stream.position(consumed)
        rest = list(itertools.islice(BatchStream(corpus, 512, seed=5, start=start), 3))
        assert same(rest[: len(expected) - consumed], expected[consumed : consumed + 3])
    assert stream.position(len(epochs[0])) == (1, 0)

    resumed = BatchStream(corpus, 512, seed=5, start=(1, 2))
    assert resumed.position(0) == (1, 2)
    list(itertools.islice(resumed, len(epochs[1])))
    assert resumed.position(len(epochs[1]) - 1) == (2, 1)


def test_stream_refuses_unknown_positions():
    corpus = random_corpus(200)
    stream = BatchStream(corpus, 512, seed=5)
    with pytest.raises(ValueError, match="given so far. Received: 1"):
        stream.position(1)
    next(iter(stream))
    with pytest.raises(ValueError, match="given so far. Received: 10000"):
        stream.position(10_000)
    with pytest.raises(ValueError, match=r"epoch of \d+ batches. Received: start=\(0, 999\)"):
        next(iter(BatchStream(corpus, 512, seed=5, start=(0, 999))))


def test_too_long_pairs_are_explained():
    corpus = corpus_of([[4] * 10], [[4] * 30])
    assert len(list(token_batches(corpus, 31, seed=0))) == 1
    with pytest.raises(ValueError, match="31 positions. Received: batch_tokens=30"):
        list(token_batches(corpus, 30, seed=0))
    with pytest.raises(ValueError, match="32 positions. Received: batch_tokens=31"):
        list(token_batches(corpus, 31, seed=0, pad_multiple=8))
    with pytest.raises(ValueError, match="pad_multiple=0"):
        list(token_batches(corpus, 31, seed=0, pad_multiple=0))


def test_source_batch_equals_that_of_training():
    corpus = random_corpus(40)
    (batch,) = token_batches(corpus, 10_000, seed=0)
    rows = [source for source, _ in pairs_of([batch])]
    assert np.array_equal(source_batch(rows), batch["source"])
    assert source_batch([[], [7, 8, 9, 10]], pad_multiple=4).tolist() == [
        [3] + [0] * 7,
        [7, 8, 9, 10, 3, 0, 0, 0],
    ]
    assert source_batch([]).shape == (0, 1)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 50), max_size=60), st.integers(1, 120))
def test_chunks_have_every_row_once_and_can_be_inverted(lengths, batch_tokens):
    chunks = length_sorted_chunks(lengths, batch_tokens)
    assert sorted(itertools.chain.from_iterable(chunks)) == list(range(len(lengths)))
    for chunk in chunks:
        assert len(chunk) == 1 or len(chunk) * max(lengths[i] for i in chunk) <= batch_tokens
    assert original_order(chunks, [[lengths[i] for i in chunk] for chunk in chunks]) == lengths
