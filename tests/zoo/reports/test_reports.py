"""Reports show the scores, the worst examples and the classes of an evaluation."""

import importlib.util
import types

import numpy as np
import pytest
from report_checks import ParsedPage

from zoo.reports.outcomes import Classes, Outcomes, Shown
from zoo.reports.reports import write_evaluation
from zoo.training.scores import Score
from zoo.training.tasks import Evaluation

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
LABELS = ["cat", "dog", "<b>"]


@pytest.fixture
def evaluation():
    gold = np.arange(90) % 3
    probabilities = np.eye(3)[gold] * 0.6 + 0.1
    probabilities[:4] = probabilities[:4, [1, 2, 0]]  # Wrong.
    scores = np.linspace(1, 0, 90)
    outcomes = Outcomes(
        "luck",
        scores,
        lambda i: Shown(f"text {i:03d}", f"gold {i:03d}", "x"),
        np.arange(90),
        classes=Classes.of(LABELS, gold, probabilities),
    )
    return Evaluation([Score("accuracy", 95.56, 1.25, "n:90")], gold, probabilities, None, lambda: outcomes)


@pytest.fixture
def predictor():
    card = {"name": "animals", "recipe": {"model": {"width": 8, "inner": {"depth": 2}}, "source": "a test"}}
    return types.SimpleNamespace(card=card, task="x", model=types.SimpleNamespace(count_params=lambda: 1_500_000))


def test_report_of_an_evaluation(evaluation, predictor, tmp_path):
    write_evaluation(tmp_path / "x.html", predictor, evaluation, "python -m zoo.x evaluate")
    page = ParsedPage(tmp_path / "x.html")
    assert "Evaluation of animals" in page.text and "n:90" in page.text and "python -m zoo.x evaluate" in page.text
    assert "1,500,000 parameters" in page.text and "inner.depth" in page.text
    shown = [text for text in page.texts if text.startswith("text ")]
    assert shown == [f"text {i:03d}" for i in range(89, 39, -1)], "the worst 50, the worst first"
    assert page.tags.count("img") == 4, "scores, lengths, confusions, calibration"
    table = page.text[page.text.index("Most frequent confusions") :]
    assert table.index("cat") < table.index("dog") and "<b>" in table


def test_scores_alone(evaluation, predictor, tmp_path):
    write_evaluation(tmp_path / "x.html", predictor, evaluation._replace(outcomes=None))
    page = ParsedPage(tmp_path / "x.html")
    assert "95.56" in page.text and "img" not in page.tags


def test_without_matplotlib(evaluation, predictor, tmp_path, monkeypatch):
    """All that is text is there, and how to get the pictures."""
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "matplotlib" else find(name))
    write_evaluation(tmp_path / "x.html", predictor, evaluation)
    page = ParsedPage(tmp_path / "x.html")
    assert "img" not in page.tags and page.text.count("pip install") == 1 and "text 089" in page.text
