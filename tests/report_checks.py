"""Checks of the outcomes of evaluations and of the reports made from them."""

import html.parser
import pathlib

import numpy as np

_VOID = {"meta", "img", "br", "link", "input"}


class ParsedPage(html.parser.HTMLParser):
    """Collects what a page shows, and checks that its elements are closed in order."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.attributes, self.texts, self._open = [], [], [], []
        self.feed(pathlib.Path(path).read_text("utf-8"))
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if not {"style", "script"} & {*self._open}:
            self.texts.append(data)

    @property
    def text(self):
        return "".join(self.texts)


def check_outcomes(evaluation, count, perfect=None, kind=str):
    """Checks that outcomes are those of the evaluation; `perfect` is the corpus score that counts perfect ones."""
    found = evaluation.outcomes()
    assert found.scores.shape == (count,) and (found.lengths is None or found.lengths.shape == (count,))
    for number in range(count):
        given, expected, predicted = found.show(number)
        assert isinstance(given, kind) and isinstance(expected, str) and isinstance(predicted, str)
        if perfect and found.scores[number] == 100 and kind is str:
            assert expected == predicted
    worst = found.worst(5)
    assert found.scores[worst].max() <= np.delete(found.scores, worst).min(initial=np.inf)
    scores = {score.metric: score.value for score in evaluation.scores}
    if perfect:
        np.testing.assert_allclose(100 * np.mean(found.scores == 100), scores[perfect], atol=1e-6)
    if found.classes is not None:
        right = found.classes.gold == found.classes.predicted
        np.testing.assert_allclose(100 * right.mean(), scores["accuracy"], atol=1e-6)
    return found


def check_report(folder, card):
    """Checks that the report of a run shows its scores, curves and settings; returns it."""
    page = ParsedPage(folder / "report.html")
    for score in card["scores"]:
        assert score["metric"] in page.text and score["signature"] in page.text
    assert "img" in page.tags and "peak_learning_rate" in page.text and card["weights"] in page.text
    return page
