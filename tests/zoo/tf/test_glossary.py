"""The graph hides the terms of a glossary as Python does."""

import random

import pytest

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
pytest.importorskip("tensorflow_text", reason="tensorflow-text is not installed")

from zoo.text import glossary  # noqa: E402
from zoo.text.placeholders import MOST, hide  # noqa: E402
from zoo.tf import placeholders  # noqa: E402
from zoo.tf.glossary import Glossary  # noqa: E402

TERMS = {
    "Vienna": "Wien",
    "New York": "Nueva York",
    "York": "Eboracum",
    "C++": "C plus plus",
    "a.b": r"\1",
    "[x]": "(y)",
    "Élan-Zoë": "Straße",
    "οδός": "Weg",
    "x^$": "$",
}
PARTS = [
    *TERMS,
    "VIENNA",
    "NEW YORK",
    "New",
    "Yorks",
    "new york",
    "ΟΔΌΣ",
    "Οδός",
    "ÉLAN-ZOË",
    "Élan",
    "-Zoë",
    "Vienna-based",
]
PARTS += ["Mrs. Vienna", "Herr Dr. York", "M. New York", "Mrs. Vienna's"]
PARTS += [
    "c++",
    "A.B",
    "axb",
    "B12",
    "www.Vienna.org",
    "\ufdd4Vienna\ufdd5",
    "中Vienna",
    "Vienna's",
    "1Vienna",
    "🙂",
    "",
]


def test_terms_are_hidden_as_in_python():
    rng = random.Random(1)
    texts = ["".join(part + rng.choice((" ", " ", ", ", "")) for part in rng.choices(PARTS, k=5)) for _ in range(400)]
    texts += ["", "Vienna " * (MOST + 2), "B12 " * (MOST - 1) + "Vienna York"]
    python = glossary.Glossary(TERMS)
    expected = [python.hide(*hide(text)) for text in texts]
    hidden, kept = Glossary(TERMS).hide(*placeholders.hide(tf.constant(texts)))
    assert [text.decode() for text in hidden.numpy()] == [text for text, _ in expected]
    assert [[part.decode() for part in row] for row in kept.to_list()] == [row for _, row in expected]
    assert len({part for _, row in expected for part in row}) > 15


def test_no_text_has_no_term():
    hidden, kept = Glossary(TERMS).hide(*placeholders.hide(tf.constant([], tf.string)))
    assert hidden.shape == (0,) and kept.nrows() == 0


def test_as_many_terms_as_are_allowed():
    terms = {f"number {i} of some terms": f"term {i}" for i in range(glossary.MOST_TERMS)}
    _, kept = Glossary(terms).hide(
        *placeholders.hide(tf.constant(["Number 999 of some terms, number 12 of some terms"]))
    )
    assert kept.to_list() == [[b"Term 999", b"term 12"]]
