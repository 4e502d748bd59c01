"""Tests of known words: which names are unseen, and which of two translations is the better one."""

import pytest

from zoo.text.known_words import (
    MARGIN,
    KnownWords,
    check_known_words,
    merge_words,
    most_frequent_words,
)
from zoo.text.placeholders import hide, placeholder

WORDS = "the queen met and la reine a rencontré et élan earth terre genius génie is a est un"
TITLES = " mr mrs dr herr herrn frau mme madame president präsident"


def test_words_are_counted_in_small_letters():
    assert most_frequent_words(["Élan, élan!", "The the THE a1b", ""]) == "a b the élan"
    assert most_frequent_words(["The Anne-Marie", "anne"]) == "anne anne-marie marie the"


def test_the_most_frequent_are_kept():
    """As many as asked for; of equally frequent ones those that come first in the alphabet."""
    assert most_frequent_words(["b a", "B c", "c d"], most=3) == "a b c"


def test_words_are_merged():
    assert merge_words("b d", "a b", "") == "a b d"


def test_unseen_names_have_a_capital_and_are_not_known():
    known = KnownWords.of(WORDS)
    unseen = ["Sunniva", "Élodie", "McGee", "SUNNIVA", "Łukasz", "Dvořák"]
    assert [word for word in unseen if known.is_unseen_name(word)] == unseen
    doubles = ["Sunniva-Marie", "The-Queen", "Earth-Genius"]  # Such as Anne-Marie: the parts alone are known.
    assert [word for word in doubles if known.is_unseen_name(word)] == doubles
    assert not KnownWords("the queen the-queen").is_unseen_name("The-Queen")
    for word in ("The-queen", "the-Queen", "X-Earth", "E-Earth"):  # No names, as T-shirt is none.
        assert not known.is_unseen_name(word), word
    for word in ("The", "Queen", "QUEEN", "Élan", "sunniva", "X", "mcGee", ""):
        assert not known.is_unseen_name(word), word


@pytest.mark.parametrize("word", ["Siebenundsiebzig", "Zweihundertfünfzig", "Zwölf"])
def test_german_numbers_are_no_names(word):
    assert not KnownWords("haus").is_unseen_name(word) and KnownWords("haus").is_unseen_name(f"{word}er")


def test_hidden_names_follow_the_codes():
    known = KnownWords(WORDS)
    text, kept = known.hide_names(*hide("The B12, Xyz met the Xyz."))
    assert text == f"The {placeholder(0)}, {placeholder(1)} met the {placeholder(2)}."
    assert kept == ["B12", "Xyz", "Xyz"]
    assert known.hide_names(*hide("XYZ MET B12")) == (f"XYZ MET {placeholder(0)}", ["B12"])
    assert known.hide_names("The XYZ", [])[1] == ["XYZ"]
    assert known.hide_names("The Queen-Ann met Xyz-ed.", [])[1] == ["Queen-Ann"]


def test_names_that_follow_a_title_are_hidden():
    known = KnownWords(WORDS + TITLES)
    for title in ("Mr.", "Mr", "Mrs.", "Dr.", "Herr", "Herrn", "Frau", "M.", "Mme", "Madame", "Herr Dr."):
        text, kept = known.hide_names(f"the {title} Queen met la {title} Genius-Earth.", [])
        assert text == f"the {title} {placeholder(0)} met la {title} {placeholder(1)}.", title
        assert kept == ["Queen", "Genius-Earth"]
    for text in (
        "The Queen met Genius.",
        "Herr Präsident!",
        "la Herr Präsident",
        "Hofmr. Queen",
        "Mr. queen",
        "Mr. X",
        "Mr., Queen",
    ):
        unseen = [word for word in ("Hofmr",) if word in text]
        assert known.hide_names(text, [])[1] == unseen, text
    assert known.hide_names("Herr Präsidentschaft", [])[1] == ["Präsidentschaft"]


@pytest.mark.parametrize(
    ("source", "plain", "kept", "difference", "expected"),
    [
        ("Sunniva met the queen.", "Soleniva a rencontré la reine.", "Sunniva a rencontré la reine.", -5.0, True),
        ("Sunniva met the queen.", "La terre a rencontré la reine.", "Sunniva a rencontré la reine.", -5.0, False),
        ("Sunniva met the queen.", "La terre a rencontré la reine.", "Sunniva et la reine.", MARGIN - 0.01, False),
        ("Sunniva met the queen.", "La terre a rencontré la reine.", "Sunniva et la reine.", MARGIN + 0.01, True),
        # Nothing is lost, or also by the other one.
        ("Sunniva met the queen.", "Sunniva a rencontré la reinette.", "Sunniva et la reine.", 5.0, False),
        ("Sunniva met Xandros.", "Soleniva a rencontré Xandros.", "Sunniva et Alexandre.", 5.0, False),
        ("Sunniva met Xandros.", "Soleniva a rencontré Xandros.", "Sunniva et Xandros.", -5.0, True),
        # A word of the source is not invented, and a part of a word is another word.
        ("Waht is Xandros", "La terre Waht", "Waht Xandros", -5.0, False),
        ("Waht is Xandros", "La terre wahta", "Waht Xandros", -5.0, True),
        ("The queen met Ann.", "La reine a rencontré Anne.", "La reine a rencontré Anne.", 5.0, False),
        ("the queen", "la reinette", "la reine", 5.0, False),
        # A double name may lose one of its parts, or have it translated, by words that are known.
        ("The-Genius met the queen.", "La-Génie a rencontré la reine.", "The-Genius a rencontré la reine.", -5.0, True),
        ("The-Genius met the queen.", "Le genius est la reine.", "The-Genius a rencontré la reine.", -5.0, True),
        ("The-Genius met the queen.", "La terre est la reine.", "The-Genius a rencontré la reine.", -5.0, False),
        ("the earth-genius", "la terre", "earth-genius", 5.0, False),
        # What follows a title is a name, if the other translation has a title, too, or a worse score.
        ("Mrs. Queen met the queen.", "Madame La Reine est la reine.", "Madame Queen est la reine.", -5.0, True),
        ("Mrs. Queen met the queen.", "Madame Queen est la reine.", "Madame Queen est Queen.", 5.0, False),
        ("la Frau Terre est", "la reine a la terre", "the queen Terre", -5.0, False),
        ("la Frau Terre est", "la reine a la terre", "the queen Terre", MARGIN + 0.01, True),
        ("Mrs. Queen met the queen.", "Madame La Reine est la reine.", "Madame La Reine est la terre.", 5.0, False),
        ("Mrs. Queen met Sunniva.", "Madame Queen met la terre.", "Madame Queen met Sunniva.", -5.0, False),
        ("Herr Präsident a la reine.", "Mr. President met the queen.", "Mr. Präsident", -5.0, False),
    ],
)
def test_translations_that_lose_names_for_invented_words_are_worse(source, plain, kept, difference, expected):
    assert KnownWords(WORDS + TITLES).prefers_kept(source, (plain, -1.0), (kept, -1.0 + difference)) is expected


def test_words_without_placeholders_are_an_error():
    assert check_known_words("", False) == "" and check_known_words("a b", True) == "a b"
    for words, placeholders in (("a b", False), (["a"], True)):
        with pytest.raises(ValueError, match="must be words in a string, of a translator with `placeholders`"):
            check_known_words(words, placeholders)
