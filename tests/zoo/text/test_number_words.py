"""Tests of numbers in words: by hand, and as the library num2words has them."""

import random

import pytest

from zoo.text.number_words import LANGUAGES, number_in_words, random_number_in_words


@pytest.mark.parametrize(
    "number, english, german, french",
    [
        (2, "two", "zwei", "deux"),
        (15, "fifteen", "fünfzehn", "quinze"),
        (16, "sixteen", "sechzehn", "seize"),
        (17, "seventeen", "siebzehn", "dix-sept"),
        (21, "twenty-one", "einundzwanzig", "vingt et un"),
        (30, "thirty", "dreißig", "trente"),
        (47, "forty-seven", "siebenundvierzig", "quarante-sept"),
        (66, "sixty-six", "sechsundsechzig", "soixante-six"),
        (70, "seventy", "siebzig", "soixante-dix"),
        (71, "seventy-one", "einundsiebzig", "soixante et onze"),
        (77, "seventy-seven", "siebenundsiebzig", "soixante-dix-sept"),
        (80, "eighty", "achtzig", "quatre-vingts"),
        (81, "eighty-one", "einundachtzig", "quatre-vingt-un"),
        (90, "ninety", "neunzig", "quatre-vingt-dix"),
        (91, "ninety-one", "einundneunzig", "quatre-vingt-onze"),
        (99, "ninety-nine", "neunundneunzig", "quatre-vingt-dix-neuf"),
        (100, "one hundred", "einhundert", "cent"),
        (103, "one hundred and three", "einhundertdrei", "cent trois"),
        (250, "two hundred and fifty", "zweihundertfünfzig", "deux cent cinquante"),
        (700, "seven hundred", "siebenhundert", "sept cents"),
        (1000, "one thousand", "eintausend", "mille"),
    ],
)
def test_numbers(number, english, german, french):
    assert [number_in_words(number, language) for language in ("en", "de", "fr")] == [english, german, french]


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_are_those_of_a_library(language):
    num2words = pytest.importorskip("num2words", reason="num2words is not installed").num2words
    for number in range(1001):
        assert number_in_words(number, language) == num2words(number, lang=language)


def test_random_numbers_reach_all_that_people_write():
    rng = random.Random(0)
    found = {random_number_in_words(rng) for _ in range(20_000)}
    assert {*range(2, 101), *range(100, 1001, 100)} <= found <= {*range(2, 1001)} and len(found) > 600
