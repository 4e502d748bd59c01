"""Tests of CKY against exhaustive search."""

import functools

import numpy as np
import pytest

from zoo.parsing.chart import best_trees


@functools.cache
def binary_trees(first, last):
    """Yields all binary trees over some words, as sets of spans."""
    if last - first == 1:
        return [frozenset({(first, last)})]
    return [
        left | right | {(first, last)}
        for middle in range(first + 1, last)
        for left in binary_trees(first, middle)
        for right in binary_trees(middle, last)
    ]


def total(scores, spans):
    return sum(scores[span] for span in spans)


def flat(scores):
    """Converts charts `[B, N, N]` to the order of `best_trees`."""
    return np.stack([scores[:, i, j] for j in range(scores.shape[1]) for i in range(j)], axis=1)


@pytest.mark.parametrize("length", range(1, 8))
def test_best_tree_equals_exhaustive_search(length):
    scores = np.random.default_rng(length).normal(size=(20, length + 1, length + 1))
    for chart, spans in zip(scores, best_trees(flat(scores), np.full(20, length))):
        assert frozenset(spans) in binary_trees(0, length)
        assert total(chart, spans) == pytest.approx(max(total(chart, tree) for tree in binary_trees(0, length)))


def test_trees_do_not_depend_on_batch():
    rng, lengths = np.random.default_rng(1), np.array([3, 9, 1, 6])
    scores = rng.normal(size=(4, 10, 10))
    together = best_trees(flat(scores), lengths)
    scores[0, :, 4:] = np.nan  # Padding is not read.
    for i, length in enumerate(lengths):
        alone = best_trees(flat(scores[i : i + 1, : length + 1, : length + 1]), lengths[i : i + 1])
        assert alone[0] == together[i]
    assert best_trees(flat(scores), lengths) == together


def test_spans_are_ordered_top_down():
    scores = np.zeros((1, 4, 4))
    scores[0, 1, 3] = 1
    assert best_trees(flat(scores), np.array([3])) == [[(0, 3), (0, 1), (1, 3), (1, 2), (2, 3)]]
