"""Tests of rows of a stream of documents."""

import numpy as np
import pytest

from zoo.corpora.batching import BatchStream
from zoo.corpora.labelled_corpus import NO_LABEL
from zoo.corpora.packed_corpus import PackedCorpus

STREAM = np.arange(100, 203)  # 103 different tokens.


def all_rows(corpus):
    return corpus.gather(np.arange(len(corpus)), [corpus.width], 0)


@pytest.mark.parametrize("width", [1, 7, 50, 102])
@pytest.mark.parametrize("epoch", range(4))
def test_each_token_is_a_label_at_most_once_and_few_are_left_out(width, epoch):
    batch = all_rows(PackedCorpus(STREAM, width, seed=1).epoch(epoch))
    labels, inputs = batch["labels"].ravel(), batch["token_ids"].ravel()
    assert (labels == inputs + 1).all() and len({*labels}) == len(labels)
    assert (np.diff(labels) == 1).all() and len(labels) > len(STREAM) - 1 - 2 * width
    assert "segment_ids" not in batch


def test_epochs_begin_at_different_places():
    corpus = PackedCorpus(STREAM, 10, seed=1)
    firsts = {int(all_rows(corpus.epoch(epoch))["token_ids"][0, 0]) for epoch in range(30)}
    assert len(firsts) > 6 and firsts <= {*range(100, 110)}
    again = all_rows(PackedCorpus(STREAM, 10, seed=1).epoch(3))["token_ids"]
    assert (again == all_rows(corpus.epoch(3))["token_ids"]).all()


def test_segments_change_where_a_document_begins():
    stream = np.array([3, 5, 6, 3, 7, 3, 8, 9, 10, 3])
    corpus = PackedCorpus(stream, 9, boundary_id=3)
    batch = all_rows(corpus)
    assert batch["segment_ids"].tolist() == [[1, 1, 1, 2, 2, 3, 3, 3, 3]]
    assert batch["labels"].tolist() == [[5, 6, 3, 7, 3, 8, 9, 10, 3]]  # The end of each document is predicted.


def test_rows_of_padding_have_no_labels():
    batch = PackedCorpus(STREAM, 10, boundary_id=100).gather(np.array([1]), [10], fill=2)
    assert batch["labels"].shape == batch["token_ids"].shape == (3, 10)
    assert (batch["labels"][1:] == NO_LABEL).all() and (batch["token_ids"][1:] == 0).all()


def test_a_stream_of_batches_resumes():
    corpus = PackedCorpus(STREAM, 10, seed=4)
    stream = iter(BatchStream(corpus, 30, seed=5))
    batches = [next(stream) for _ in range(12)]
    assert all(batch["token_ids"].shape == (3, 10) or len(batch["token_ids"]) < 3 for batch in batches)
    whole = BatchStream(corpus, 30, seed=5)
    given = iter(whole)
    [next(given) for _ in range(12)]
    resumed = iter(BatchStream(corpus, 30, seed=5, start=whole.position(7)))
    for batch in batches[7:]:
        assert (next(resumed)["token_ids"] == batch["token_ids"]).all()
