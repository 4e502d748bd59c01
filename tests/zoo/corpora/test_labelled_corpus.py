"""Labelled rows: special tokens as in BERT, truncation, and batches with labels."""

import numpy as np
import pytest

from zoo.corpora.batching import BatchStream, token_batches
from zoo.corpora.labelled_corpus import NO_LABEL, LabelledCorpus, TokenDropout, frame_rows, split_labels
from zoo.corpora.token_rows import TokenRows


def rows_of(rows):
    return [rows.ids[a:b].tolist() for a, b in zip(rows.offsets[:-1], rows.offsets[1:])]


def test_special_tokens_are_added_to_texts_and_pairs():
    tokens, segments, cut = frame_rows([[[5, 6]], [[]]], 2, 3, 10)
    assert rows_of(tokens) == [[2, 5, 6, 3], [2, 3]] and not cut.size
    tokens, segments, cut = frame_rows([[[5, 6], [7]], [[], [8]]], 2, 3, 10)
    assert rows_of(tokens) == [[2, 5, 6, 3, 7, 3], [2, 3, 8, 3]]
    assert rows_of(segments) == [[0, 0, 0, 0, 1, 1], [0, 0, 1, 1]]


@pytest.mark.parametrize(
    ("parts", "kept"),
    [
        ([[4] * 9], [5]),
        ([[4] * 9, [5] * 2], [2, 2]),  # Room for 4.
        ([[4] * 9, [5]], [3, 1]),
        ([[4], [5] * 9], [1, 3]),
        ([[4] * 9, [5] * 9], [2, 2]),
        ([[4] * 9, []], [4, 0]),
        ([[4] * 3, [5]], [3, 1]),
    ],
)
def test_the_longer_text_of_a_long_pair_is_truncated(parts, kept):
    tokens, segments, cut = frame_rows([[[9]] * len(parts), parts], 2, 3, 7)
    (_, row), (_, segment) = rows_of(tokens), rows_of(segments)
    expected, numbers = [2], [0]
    for i, (part, count) in enumerate(zip(parts, kept)):
        expected += [*part[:count], 3]
        numbers += [i] * (count + 1)
    assert (row, segment) == (expected, numbers) and len(row) <= 7
    assert cut.tolist() == ([1] if sum(map(len, parts)) > sum(kept) else [])


def corpus(step_labels, segments=False):
    rng = np.random.default_rng(0)
    tokens = TokenRows.of([rng.integers(4, 99, n) for n in rng.integers(2, 12, 57)])
    numbers = TokenRows(tokens.ids % 7 - 1, tokens.offsets)
    labels = numbers if step_labels else tokens.ids[tokens.offsets[:-1]] % 5
    return LabelledCorpus(
        tokens, labels, {"segment_ids": TokenRows(tokens.ids % 2, tokens.offsets)} if segments else {}
    )


@pytest.mark.parametrize("step_labels", [False, True])
@pytest.mark.parametrize("pad_multiple", [1, 8])
def test_every_row_once_with_its_labels(step_labels, pad_multiple):
    rows = 0
    for batch in token_batches(corpus(step_labels, True), 64, seed=1, pad_multiple=pad_multiple):
        ids, labels = batch["token_ids"], batch["labels"]
        assert ids.size <= 64 and ids.dtype == labels.dtype == np.int32
        real = ids > 0
        np.testing.assert_array_equal(batch["segment_ids"], np.where(real, ids % 2, 0))
        expected = np.where(real, ids % 7 - 1, NO_LABEL) if step_labels else np.where(real[:, 0], ids[:, 0] % 5, -1)
        np.testing.assert_array_equal(labels, expected)
        rows += real[:, 0].sum()
    assert rows == 57


def test_a_stream_resumes():
    stream = BatchStream(corpus(False), 64, seed=3)
    batches = [batch for batch, _ in zip(stream, range(15))]
    again = iter(BatchStream(corpus(False), 64, seed=3, start=stream.position(9)))
    for batch in batches[9:]:
        np.testing.assert_array_equal(next(again)["token_ids"], batch["token_ids"])


def test_labels_are_separated():
    inputs, labels = split_labels({"token_ids": 1, "segment_ids": 2, "labels": 3})
    assert inputs == {"token_ids": 1, "segment_ids": 2} and labels == 3


def test_dropped_tokens():
    """Tokens are dropped at the given rate, differently in each epoch, repeatably, and never special ones."""
    whole = corpus(step_labels=False)
    dropped = TokenDropout(whole, 0.3, 1, (4, 5), seed=1)
    first, second = (dropped.epoch(epoch).tokens for epoch in (0, 1))
    gone = first.ids != whole.tokens.ids
    assert (first.ids[gone] == 1).all() and not np.isin(whole.tokens.ids[gone], (4, 5)).any()
    assert abs(gone.mean() - 0.3) < 4 * np.sqrt(0.21 / gone.size) and (first.ids != second.ids).any()
    np.testing.assert_array_equal(dropped.epoch(0).tokens.ids, first.ids)
    stream = BatchStream(dropped, 64, seed=1)
    assert any((batch["token_ids"] == 1).any() for batch, _ in zip(stream, range(3)))
    assert dropped.epoch(0).labels is whole.labels
