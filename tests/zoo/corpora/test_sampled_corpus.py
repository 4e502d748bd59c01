"""Epochs that are encoded while the one before is trained on."""

import threading
import time

import numpy as np
import pytest

from zoo.corpora.batching import BatchStream
from zoo.corpora.sampled_corpus import SampledCorpus
from zoo.text.tokenizer_training import train_tokenizer

PAIRS = [(f"one two {i}", f"eins zwei {i}") for i in range(60)]
TOKENIZER = train_tokenizer((text for pair in PAIRS for text in pair), 320)


class Pairs:
    """The pairs of epochs, of which the second can be read once `ready` is set."""

    def __init__(self, error=None):
        self.ready, self.begun, self._error = threading.Event(), threading.Event(), error

    def epoch(self, epoch):
        return PAIRS if epoch == 0 else self

    def numbered(self):
        for number, pair in enumerate(PAIRS):
            self.begun.set()
            assert self.ready.wait(60)
            if self._error and number == 7:
                raise self._error
            yield number, pair


def sampled(folder, pairs=PAIRS):
    return SampledCorpus(pairs, TOKENIZER, dropout=0.3, seed=1, folder=folder)


def ids(corpus):
    return [corpus.source.ids.tolist(), corpus.target.ids.tolist()]


def test_prepared_epochs_are_those_of_the_seed(tmp_path):
    corpus, plain = sampled(tmp_path / "prepared"), sampled(None)
    for epoch in range(4):
        assert ids(corpus.epoch(epoch)) == ids(plain.epoch(epoch))
        corpus.prepare(epoch + 1)
        corpus.prepare(epoch + 1)  # It is under way.
    assert {path.name for path in (tmp_path / "prepared").glob("epoch-?")} - {"epoch-4"} == {"epoch-3"}
    assert ids(corpus.epoch(1)) == ids(plain.epoch(1)), "another one than is prepared"
    assert [path.name for path in (tmp_path / "prepared").iterdir()] == ["epoch-1"]


def test_a_stream_goes_on_while_the_next_epoch_is_prepared(tmp_path):
    pairs = Pairs()
    stream = BatchStream(sampled(tmp_path, pairs), 64, seed=1)
    first = [batch for _, batch in zip(range(stream.batches_in(0)), stream)]
    assert pairs.begun.wait(60) and sum(len(batch["source"]) for batch in first) == len(PAIRS)
    batches = iter(BatchStream(sampled(tmp_path / "other", pairs), 64, seed=1))
    for _ in first:
        next(batches)
    threading.Timer(0.1, pairs.ready.set).start()
    more = [next(batches) for _ in range(3)]
    expected = BatchStream(sampled(None), 64, seed=1, start=(1, 0))
    for batch, wanted in zip(more, expected):
        np.testing.assert_array_equal(batch["source"], wanted["source"])


def test_errors_in_the_background_are_those_of_the_epoch(tmp_path):
    pairs = Pairs(error=OSError("disk on fire"))
    corpus = sampled(tmp_path, pairs)
    corpus.epoch(0)
    corpus.prepare(1)
    pairs.ready.set()
    with pytest.raises(OSError, match="disk on fire"):
        corpus.epoch(1)


def test_closing_stops_the_thread_and_leaves_no_part(tmp_path):
    pairs = Pairs()
    corpus = sampled(tmp_path, pairs)
    corpus.epoch(0)
    corpus.prepare(1)
    assert pairs.begun.wait(60)
    threading.Timer(0.1, pairs.ready.set).start()
    before = time.perf_counter()
    corpus.close()
    corpus.close()
    assert time.perf_counter() - before < 30
    assert [path.name for path in tmp_path.iterdir()] == ["epoch-0"]
