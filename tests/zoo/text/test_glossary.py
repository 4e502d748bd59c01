"""Tests of glossaries: which terms are found, what they become, and which files are refused."""

import pytest

from zoo.text.glossary import MOST_TERMS, Glossary, check_glossary, read_glossary, words_of
from zoo.text.placeholders import MOST, hide, placeholder, restore

TERMS = {
    "Vienna": "Wien",
    "machine learning": "maschinelles Lernen",
    "machine": "Maschine",
    "C++": "C plus plus",
    "node.js": "Node",
    "Élan": "Schwung",
}
A, B = placeholder(0), placeholder(1)


@pytest.mark.parametrize(
    "text, hidden, kept",
    [
        ("I live in Vienna.", f"I live in {A}.", ["Wien"]),
        ("VIENNA is big, Vienna is old.", f"{A} is big, {B} is old.", ["WIEN", "Wien"]),
        ("vienna", "vienna", []),
        ("Mrs. Vienna lives in Vienna, Herr Élan", f"Mrs. Vienna lives in {A}, Herr Élan", ["Wien"]),
        ("Viennas Vienna's", f"Viennas {A}'s", ["Wien"]),
        ("New-Vienna Vienna-based", "New-Vienna Vienna-based", []),
        ("ÉlanÉlan, Élan", f"ÉlanÉlan, {A}", ["Schwung"]),
        ("Machine learning by machine.", f"{A} by {B}.", ["Maschinelles Lernen", "Maschine"]),
        ("machine  learning", f"{A}  learning", ["Maschine"]),
        ("C++, C+, nodexjs, node.js!", f"{A}, C+, nodexjs, {B}!", ["C plus plus", "Node"]),
        ("", "", []),
    ],
)
def test_terms_are_hidden_as_whole_words(text, hidden, kept):
    assert Glossary(TERMS).hide(text, []) == (hidden, kept)


def test_placeholders_are_numbered_behind_others():
    hidden, kept = Glossary(TERMS).hide(*hide("Vienna: see www.example.org, Vienna"))
    assert kept == ["www.example.org", "Wien", "Wien"]
    assert restore(hidden, kept) == "Wien: see www.example.org, Wien"


def test_more_terms_than_placeholders_stay():
    hidden, kept = Glossary(TERMS).hide("Vienna " * (MOST + 2), [])
    assert len(kept) == MOST and hidden.count("Vienna") == 2


def test_given_spellings_are_kept():
    terms = {"us": "uns", "US": "USA", "Us": "Uns beide"}
    assert [Glossary(terms).hide(text, [])[1] for text in terms] == [[translation] for translation in terms.values()]


def test_words():
    assert words_of({"New York": "Nueva York", "C++": "X"}) == "new york nueva york c x"


@pytest.mark.parametrize("terms", [{"": "a"}, {"a": ""}, {" a": "b"}, {"a": "b\nc"}, {"a": 1}, {1: "a"}, ["a"], "ab"])
def test_other_terms_are_refused(terms):
    with pytest.raises(ValueError, match=r"glossary.* Received: "):
        check_glossary(terms, True)


def test_too_many_terms_and_models_without_placeholders_are_refused():
    terms = {f"term {i}": "x" for i in range(MOST_TERMS)}
    assert check_glossary(terms, True) == terms and check_glossary({}, False) == {}
    with pytest.raises(ValueError, match="Received: 1,001 terms"):
        check_glossary({**terms, "one more": "x"}, True)
    with pytest.raises(ValueError, match="placeholders=False"):
        check_glossary({"a": "b"}, False)


def test_files(tmp_path):
    path = tmp_path / "terms.tsv"
    path.write_bytes("\ufeffWien\tVienna\r\n\n  Prag \t Prague\nWien\tVienna\n".encode())
    assert read_glossary(path) == {"Wien": "Vienna", "Prag": "Prague"}


@pytest.mark.parametrize(
    "text, received",
    [("a", "line 1: 'a'"), ("a\tb\n\tc", "line 2"), ("a\tb\tc", "line 1"), ("a\tb\na\tc", "'b' and as 'c'")],
)
def test_other_files_are_refused(tmp_path, text, received):
    path = tmp_path / "terms.tsv"
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=received):
        read_glossary(path)


def test_other_encodings_are_refused(tmp_path):
    (tmp_path / "terms.tsv").write_bytes("Köln\tCologne\n".encode("latin-1"))
    with pytest.raises(ValueError, match="must be a text file in UTF-8. Received: .*line 1"):
        read_glossary(tmp_path / "terms.tsv")
