"""The documentation builds without a warning, and its pages load nothing from elsewhere."""

import html.parser
import pathlib
import subprocess
import sys
import urllib.parse

import pytest

for module in ("sphinx", "myst_parser", "furo", "griffe"):
    pytest.importorskip(module, reason=f"{module} is not installed")

ROOT = pathlib.Path(__file__).parents[1]
pytestmark = pytest.mark.slow


class Links(html.parser.HTMLParser):
    """Collects ids, links, and what a page loads."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loaded = set(), [], []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids.add(values.get("id"))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag in ("script", "img", "source") and values.get("src"):
            self.loaded.append(values["src"])
        if tag == "link" and values.get("rel") != "canonical":
            self.loaded.append(values["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    output = tmp_path_factory.mktemp("site") / "site"
    command = [sys.executable, "docs/build.py", "--output", output]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return output


def test_links_lead_somewhere_and_nothing_is_loaded(site):
    pages = {path: Links(path) for path in site.rglob("*.html")}
    assert len(pages) > 50
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                assert link not in page.loaded or parts.scheme == "data", f"{path.name} loads {link}"
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            assert target.exists(), f"{path.name}: {link}"
            if parts.fragment and target in pages:
                assert urllib.parse.unquote(parts.fragment) in pages[target].ids, f"{path.name}: {link}"


def test_reference_has_the_docstrings(site):
    text = (site / "reference" / "keras_transformer.html").read_text("utf-8")
    import keras_transformer

    for name in keras_transformer.__all__:
        assert f">{name}<" in text, name
    assert "Call arguments" in text and "Raises" in text
    predictors = (site / "reference" / "predictors.html").read_text("utf-8")
    assert "Translator.translate" in predictors and "SpeechTranscriber.transcribe" in predictors
    house = (site / "house" / "keras_transformer-layers.html").read_text("utf-8")
    assert "multi_head_attention.py" in house


def test_every_page_is_in_the_contents(site):
    index = Links(site / "index.html").links
    for path in (ROOT / "docs").glob("*.md"):
        assert f"{path.stem}.html" in index, f"{path.name} is in no group of docs/build.py"
