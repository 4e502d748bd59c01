"""A page is one file, shows texts as they are, and loads nothing."""

import numpy as np
import pytest
from report_checks import ParsedPage

from zoo.reports.page import Page

HOSTILE = "<script>alert(1)</script>&amp;\"'><img src=http://x/ onerror=y>\u202e\x1b[0m\ud800"


@pytest.fixture
def page():
    return Page(HOSTILE)


def test_texts_are_shown_as_they_are(page, tmp_path):
    page.heading(HOSTILE)
    page.text(HOSTILE)
    page.lines([HOSTILE, "b"])
    page.table([HOSTILE], [[HOSTILE], [3], [2.5]])
    page.write(tmp_path / "x.html")
    found = ParsedPage(tmp_path / "x.html")
    shown = "<script>alert(1)</script>&amp;\"'><img src=http://x/ onerror=y>\\u202e\\x1b[0m\\ud800"
    assert found.text.count(shown) == 7, "title twice, and each of the others"
    assert not {"script", "img"} & {*found.tags}
    assert not [value for _, name, value in found.attributes if name in ("src", "href")]


def test_nothing_is_loaded(page, tmp_path):
    matplotlib = pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")
    pytest.importorskip("PIL", reason="Pillow is not installed")
    figure = matplotlib.Figure()
    figure.subplots().plot([1, 2])
    page.figure(figure, HOSTILE)
    page.table(["a"], [[np.zeros((900, 30, 3), "uint8")], [np.zeros((9, 30, 3), "uint8")]])
    page.write(tmp_path / "x.html")
    found = ParsedPage(tmp_path / "x.html")
    sources = [value for _, name, value in found.attributes if name == "src"]
    kinds = [source.partition(";")[0] for source in sources]
    assert kinds == ["data:image/svg+xml", "data:image/jpeg", "data:image/png"]
    (policy,) = [value for tag, name, value in found.attributes if name == "content" and "default-src" in value]
    assert policy == "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    assert all(value for tag, name, value in found.attributes if name == "alt")


def test_long_texts_are_cut(page, tmp_path):
    page.text("x" * 100_000)
    page.write(tmp_path / "x.html")
    assert 2_000 <= ParsedPage(tmp_path / "x.html").text.count("x") < 2_100
