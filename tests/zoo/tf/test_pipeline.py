"""Batches pass through tf.data unchanged, and prefetching does not disturb resuming."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from zoo.corpora.batching import BatchStream, token_batches
from zoo.corpora.encoded_corpus import EncodedCorpus, teacher_forced
from zoo.corpora.token_rows import TokenRows
from zoo.tf.pipeline import shuffled_dataset, training_dataset
from zoo.training.trainer import micro_batches


@pytest.fixture
def corpus():
    rng = np.random.default_rng(0)
    sides = []
    for _ in range(2):
        lengths = rng.integers(1, 13, 101)
        ids = rng.integers(4, 50, lengths.sum()).astype("uint16")
        sides.append(TokenRows(ids, np.concatenate([[0], np.cumsum(lengths)])))
    return EncodedCorpus(*sides)


def examples(batches):
    return micro_batches(map(teacher_forced, batches), 1, 1, lambda tokens: None)


def test_batches_arrive_unchanged_and_end(corpus):
    batches = list(token_batches(corpus, 70, seed=0))
    dataset = training_dataset(examples(batches))
    assert dataset.element_spec[0]["target"] == tf.TensorSpec((None, None), tf.int32)
    arrived = list(dataset.as_numpy_iterator())
    for got, expected in zip(arrived, examples(batches), strict=True):
        assert all(np.array_equal(got[0][side], expected[0][side]) for side in ("source", "target"))
        assert np.array_equal(got[1], expected[1])
        assert np.array_equal(got[2], expected[2])


def test_resuming_with_a_prefetching_dataset(corpus):
    stream = BatchStream(corpus, 70, seed=3)
    dataset = training_dataset(examples(stream), prefetch=8)
    consumed = list(itertools.islice(dataset.as_numpy_iterator(), 23))
    rest = list(itertools.islice(BatchStream(corpus, 70, seed=3, start=stream.position(20)), 3))
    for got, expected in zip(consumed[20:], rest, strict=True):
        assert np.array_equal(got[1], expected["target"][:, 1:])


def test_iterators_end_at_once(corpus):
    """An iterator that waits for the thread of its autotuning may take a minute to end: 16 s after 25 s of rest."""
    batches = list(token_batches(corpus, 70, seed=0))
    assert training_dataset(examples(batches)).options().autotune.enabled is False
    assert shuffled_dataset(corpus, 4, True, 0).options().autotune.enabled is False
