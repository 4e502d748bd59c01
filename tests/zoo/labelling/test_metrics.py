"""Tests of token accuracy and span F1 against manual counts and seqeval."""

import numpy as np
import pytest

from zoo.labelling.metrics import is_bio, labelling_scores, spans

NAMES = ["O", "B-A", "I-A", "B-B", "I-B"]


def test_spans():
    labels = ["I-A", "I-A", "B-A", "I-B", "O", "B-B", "I-B", "B-B"]
    assert spans(labels) == {("A", 0, 2), ("A", 2, 3), ("B", 3, 4), ("B", 5, 7), ("B", 7, 8)}
    assert spans([]) == spans(["O", "O"]) == set()


def random_labels(sentences, seed):
    rng = np.random.default_rng(seed)
    return [rng.choice(NAMES, n, p=[0.4, 0.2, 0.15, 0.15, 0.1]).tolist() for n in rng.integers(1, 12, sentences)]


def test_span_f1_equals_seqeval():
    metrics = pytest.importorskip("seqeval.metrics", reason="seqeval is not installed")
    gold = random_labels(300, 0)
    rng = np.random.default_rng(1)
    predicted = [[label if rng.random() < 0.8 else rng.choice(NAMES) for label in row] for row in gold]
    accuracy, f1 = labelling_scores(gold, predicted, NAMES)
    assert accuracy.value == pytest.approx(100 * metrics.accuracy_score(gold, predicted))
    assert f1.value == pytest.approx(100 * metrics.f1_score(gold, predicted))
    assert 30 < f1.value < 95


def test_scores_equal_manual_counts():
    gold, predicted = [["B-A", "I-A", "O"], ["B-B"]], [["B-A", "O", "O"], ["B-B"]]
    accuracy, f1 = labelling_scores(gold, predicted, NAMES, resamples=50)
    assert (accuracy.metric, accuracy.value, f1.metric, f1.value) == ("accuracy", 75, "span F1", 50)
    assert accuracy.interval > 0 and accuracy.signature == "sentences:2|words:4|labels:5|bs:50|seed:12345"
    assert [score.metric for score in labelling_scores([["X"]], [["X"]], ["X", "Y"])] == ["accuracy"]
    for other in ([["B-A"], ["B-B"]], [], [["O", "O", "O"]]):
        with pytest.raises(ValueError, match="a predicted label for each of their words"):
            labelling_scores(gold, other, NAMES)


def test_is_bio():
    assert is_bio(NAMES) and is_bio(["B-X", "I-X"])
    assert not is_bio(["O"]) and not is_bio(["NN", "B-A"]) and not is_bio(["B-A", "E-A", "O"])
