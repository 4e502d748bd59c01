"""Tests of places: found by the word before them, and replaced by cities in both languages."""

import random
from collections import Counter

import pytest
from augmented_pairs import augmented

from zoo.corpora.places import cities, find_places
from zoo.corpora.substitution import Substitution, city_words

SENTENCES = [
    ("Tom lives in Boston.", "Tom wohnt in Boston."),
    ("He is from Boston.", "Er ist aus Boston."),
    ("Give it in Tom's name to Tom.", "Gib es in Toms Namen Tom."),
    ("I come on Monday.", "Ich komme am Montag."),
] * 20


def test_cities_are_those_of_the_languages():
    assert ("Munich", "München") in cities(("en", "de")) and ("Munich", "Munich") in cities(("en", "fr"))
    assert sorted(cities(("de", "en"))) == sorted((german, english) for english, german in cities(("en", "de")))
    for languages in (("en", "de"), ("fr", "en"), ("de", "fr")):
        found = cities(languages)
        assert len(found) > 60 and all(name[0].isupper() and name.isalpha() for names in found for name in names)
        assert all(len({*side}) == len(side) for side in zip(*found)), "each name once, so that it has one translation"


def test_french_names_follow_de():
    assert not [name for _, name in cities(("en", "fr")) if name[0] in "AEIOUYÉH"]


def test_places_are_names_that_often_follow_in():
    assert find_places(SENTENCES, {"Tom", "Boston"}, ("en", "de")) == {"Boston"}
    assert not find_places(SENTENCES[:8], {"Tom", "Boston"}, ("en", "de")), "too few to know"
    rare = [("Tom is in Tom.", "Tom ist in Tom.")] * 4 + [("Tom is here.", "Tom ist da.")] * 100
    assert not find_places(rare, {"Tom"}, ("en", "de"))
    one_side = [("I am in Boston.", "Ich bin bei Boston.")] * 20
    assert not find_places(one_side, {"Boston"}, ("en", "de"))


def test_french_places_follow_a():
    assert find_places([("He is in Nice.", "Il est à Nice.")] * 3, {"Nice"}, ("en", "fr")) == {"Nice"}


def test_half_of_the_places_become_cities():
    substitution = Substitution.of(SENTENCES, ("en", "de"))
    known, rng, found = {*cities(("en", "de"))}, random.Random(1), Counter()
    for _ in range(2000):
        source, target = substitution.names(("He is from Boston.", "Er ist aus Boston."), rng)
        names = source.removeprefix("He is from ")[:-1], target.removeprefix("Er ist aus ")[:-1]
        assert names in known or names[0] == names[1]
        found[names] += names in known
    assert abs(sum(found.values()) - 1000) < 5 * (2000 * 0.25) ** 0.5 and found.keys() >= known


def test_persons_become_no_cities():
    substitution, rng = Substitution.of(SENTENCES, ("en", "de")), random.Random(1)
    for _ in range(500):
        source, target = substitution.names(("Tom sleeps.", "Tom schläft."), rng)
        assert source.removesuffix(" sleeps.") == target.removesuffix(" schläft.")


def test_augmented_pairs_have_cities_in_both_languages():
    both = {(a, b) for a, b in cities(("en", "de")) if a != b}
    texts = [" ".join(pair) for pair in augmented(pairs=SENTENCES, names=1.0).epoch(0)]
    assert any(f"in {a}." in text and f"in {b}." in text for text in texts for a, b in both)


@pytest.mark.parametrize("pairs", [[("Tom sleeps on Monday.", "Tom schläft am Montag.")], [("a b", "c d")], []])
def test_corpora_without_places_or_of_other_languages_have_no_cities(pairs):
    assert city_words(pairs) == ""


def test_words_of_cities():
    assert {"munich", "münchen", "köln"} <= {*city_words(SENTENCES).split()}
