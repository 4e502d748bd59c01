"""What is drawn of outcomes, against the outcomes themselves."""

import numpy as np
import pytest

from zoo.classification.metrics import calibration_error
from zoo.reports.outcomes import Classes, Outcomes, Shown
from zoo.reports.pictures import reliability, score_by_length

RNG = np.random.default_rng(0)


def test_groups_of_lengths_divide_the_examples():
    lengths, scores = RNG.integers(1, 60, 500), RNG.random(500)
    found = score_by_length(lengths, scores)
    x, y, errors, counts = map(np.array, zip(*found))
    assert sum(counts) == 500 and 8 <= len(counts) <= 10 and (np.diff(x) > 0).all()
    np.testing.assert_allclose((counts * y).sum() / 500, scores.mean())
    np.testing.assert_allclose((counts * x).sum() / 500, lengths.mean())
    edges = np.cumsum(counts)[:-1]
    order = np.sort(lengths)
    assert all(order[edge - 1] < order[edge] for edge in edges), "the same length is in one group"
    first = scores[lengths <= order[edges[0] - 1]]
    np.testing.assert_allclose(errors[0], 1.96 * first.std(ddof=1) / len(first) ** 0.5)


@pytest.mark.parametrize("lengths", [[3], [3, 3, 3], [1, 100]])
def test_few_lengths(lengths):
    scores = np.arange(len(lengths), dtype=float)
    found = score_by_length(np.array(lengths), scores)
    assert len(found) == len({*lengths}) and sum(group[3] for group in found) == len(lengths)


def test_reliability_has_the_calibration_error():
    """The gaps of the diagram, weighted by the numbers, are the expected calibration error with as many bins."""
    probabilities = RNG.dirichlet([1, 1, 1], 400)
    often = np.sin(40 * probabilities.max(-1)) > 0  # Sometimes too sure, sometimes not sure enough.
    gold = np.where(often, probabilities.argmax(-1), probabilities.argmin(-1))
    classes = Classes.of("abc", gold, probabilities)
    right = classes.gold == classes.predicted
    found = reliability(classes.confidences, right)
    gaps = sum(count * abs(sure - share) for sure, share, count in found) / 400
    np.testing.assert_allclose(gaps, calibration_error(classes.gold, probabilities, bins=10))
    assert sum(count for *_, count in found) == 400


def test_worst_and_spread():
    scores = np.array([0.5, 0.1, 0.9, 0.1, 0.3])
    found = Outcomes("x", scores, lambda i: Shown(str(i), "", ""))
    assert found.worst(3) == [1, 3, 4] and found.worst(50) == [1, 3, 4, 0, 2]
    assert found.spread(3) == [0, 2, 4] and found.spread(9) == [0, 1, 2, 3, 4]
