"""Tests of classification scores against manual counts and loops over texts."""

import numpy as np
import pytest

from zoo.classification.metrics import (
    accuracy,
    calibration_error,
    classification_scores,
    confusion_matrix,
    draw_confusion,
    macro_f1,
)

GOLD = np.array([0, 0, 0, 1, 1, 2])
PREDICTED = np.array([0, 0, 1, 1, 0, 1])


def random_probabilities(texts, classes, seed=0):
    rng = np.random.default_rng(seed)
    powers = np.exp(2 * rng.normal(size=(texts, classes)))
    return rng.integers(0, classes, texts), powers / powers.sum(1, keepdims=True)


def test_confusion_matrix_accuracy_and_f1():
    matrix = confusion_matrix(GOLD, PREDICTED, 4)
    assert matrix.tolist() == [[2, 1, 0, 0], [1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert accuracy(matrix) == 3 / 6
    # Precision 2/3, recall 2/3; precision 1/3, recall 1/2; nothing right; the fourth class is nowhere.
    assert macro_f1(matrix) == pytest.approx((2 / 3 + 2 / 5 + 0) / 3)


def test_calibration_error_equals_gaps_of_bins():
    gold, probabilities = random_probabilities(500, 3)
    confidence, right = probabilities.max(1), probabilities.argmax(1) == gold
    expected = 0.0
    for m in range(15):
        inside = (confidence > m / 15) & (confidence <= (m + 1) / 15)
        if inside.any():
            expected += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
    assert calibration_error(gold, probabilities) == pytest.approx(expected)
    # Bins are (0, 1/2] and (1/2, 1]: one text in each, right with a confidence of 1/2 and wrong with 3/4.
    assert calibration_error(np.array([0, 1]), np.array([[0.5, 0.25, 0.25], [0.75, 0.25, 0.0]]), 2) == 0.625
    sure = np.eye(3)[gold]
    assert calibration_error(gold, sure) == 0 and calibration_error((gold + 1) % 3, sure) == 1


def test_scores_and_intervals():
    gold, probabilities = random_probabilities(400, 2)
    share = 100 * np.mean(probabilities.argmax(1) == gold)
    plain, again = classification_scores(gold, probabilities), classification_scores(gold, probabilities, 1000)
    assert [score.metric for score in plain] == ["accuracy", "macro F1", "calibration error"]
    assert [score.value for score in plain] == [score.value for score in again] and plain[0].value == share
    assert all(score.interval == 0 for score in plain)
    # The bootstrap of a share is a binomial distribution.
    normal = 1.96 * np.sqrt(share * (100 - share) / 400)
    assert again[0].interval == pytest.approx(normal, rel=0.1)
    assert again[0].signature == "n:400|classes:2|bs:1000|seed:12345"
    for texts in (0, 3):
        with pytest.raises(ValueError, match="and probabilities for each of them"):
            classification_scores(gold[:texts], probabilities[: texts // 3])


def test_draw_confusion(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    draw_confusion(confusion_matrix(GOLD, PREDICTED, 3), ["a", "b", "c"], tmp_path / "confusion.svg")
    text = (tmp_path / "confusion.svg").read_text("utf-8")
    assert text.startswith("<?xml") and len(text) > 5000
