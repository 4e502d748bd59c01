"""Names, numbers and dates become others, on both sides, in the notation of each."""

import itertools
import re
from collections import Counter

import pytest
from augmented_pairs import NAMES, NOUNS, augmented, changed

from zoo.text.number_words import number_in_words


def test_names_are_replaced_on_both_sides():
    known = set(NAMES)
    for old, new in changed(names=1.0):
        name = old[0].split()[0]
        others = {text.removesuffix(rest.removeprefix(name)) for text, rest in zip(new, old)}
        assert len(others) == 1 and not others & known and new[0].endswith(old[0].removeprefix(name))


def test_words_that_are_no_names_stay():
    pairs = [("In the arm.", "Im Arm."), ("In Arm we trust in.", "In Arm trauen wir in arm.")] * 20
    assert [*augmented(pairs=pairs, names=1.0).epoch(0)] == pairs


def test_names_with_other_forms_stay():
    """Tom's and Toms are no names of their own, and a name that a pronoun translates once would be lost."""
    for pair in (("Tom saw Tom.", "Tom sah ihn."), ("Tom sees Tom's dog.", "Tom sieht Toms Hund.")):
        pairs = [pair, ("Tom ran.", "Tom lief.")] * 20
        found = [*augmented(pairs=pairs, names=1.0).epoch(0)]
        assert found[::2] == pairs[::2] and not {*found[1::2]} & {*pairs}


def test_numbers_are_replaced_on_both_sides():
    found = Counter()
    for _, new in changed(numbers=1.0):
        numbers = [[word for word in side.rstrip(".").split() if word[0].isdigit()] for side in new]
        assert numbers[0] == numbers[1] and len(numbers[0]) == 1 and int(numbers[0][0]) >= 2
        found.update(numbers[0])
    assert len(found) > 80, "all of 2 ... 9 and most of 10 ... 99"


@pytest.mark.parametrize(
    "pair",
    [
        ("It costs 3,482.75 and not 2.", "Es kostet 3.482,75 und nicht 2."),
        ("Wake me at seven.", "Weck mich um sieben."),
        ("We have six cars.", "Nous avons six voitures."),
    ],
)
def test_numbers_keep_their_notation(pair):
    new = {*augmented(pairs=[pair] * 50, numbers=1.0).epoch(0)}
    assert len(new) > 5
    for source, target in new:
        digits = [sorted("".join(filter(str.isdigit, word)) for word in side.split()) for side in (source, target)]
        assert list(filter(None, digits[0])) == list(filter(None, digits[1])) != []
        assert "seven" not in source and "six" not in source
    if "," in pair[0]:
        assert all(source.split()[2][1] == "," and target.split()[2][1] == "." for source, target in new)


def test_numbers_in_words_become_others_in_digits_or_in_words():
    value = {number_in_words(n, "en"): n for n in range(2, 1001)}
    pairs = [("Seven of us left.", "Sieben von uns gingen."), ("He is twenty-one.", "Er ist einundzwanzig.")] * 100
    words = set()
    for english, german in augmented(pairs=pairs, numbers=1.0).epoch(0):
        new = english.removesuffix(" of us left.").removeprefix("He is ").removesuffix(".")
        if new.lower() in value:
            other = number_in_words(value[new.lower()], "de")
            assert german in (f"{other.capitalize()} von uns gingen.", f"Er ist {other}.")
            words.add(value[new.lower()])
        else:
            assert german in (f"{new} von uns gingen.", f"Er ist {new}.") and new[0].isdigit()
    assert len(words) > 50 and max(words) > 99
    for pair in [("Six men.", "Six hommes."), ("At seven o'clock.", "Um sieben Uhr.")]:
        assert all(
            re.search(r"\d", source) and pair[0] != source
            for source, _ in augmented(pairs=[pair] * 50, numbers=1.0).epoch(0)
        )
    assert [*augmented(pairs=[("I am ten.", "Ich bin zwei.")], numbers=1.0).epoch(0)] == [
        ("I am ten.", "Ich bin zwei.")
    ]


def test_numbers_that_differ_stay():
    pairs = [("He is 7.", "Er ist 8."), ("two dogs", "drei Hunde"), ("one 1", "eins 1")]
    assert [*augmented(pairs=pairs, numbers=1.0).epoch(0)] == pairs


def test_substitutable_pairs_take_the_place_of_others():
    plain = [
        (f"the {a} sees a {b}", f"der {x} sieht {y}") for (a, x), (b, y) in itertools.permutations(NOUNS.items(), 2)
    ]
    plain, count = plain * 200, 6000
    named, numbered = ("Berta sleeps.", "Berta schläft."), ("I have seven.", "Ich habe sieben.")
    digits = "I have 7.", "Ich habe 7."
    pairs = [named, *plain, numbered, digits]
    found = Counter(augmented(pairs=pairs, substitutable=0.5).epoch(1))
    for pair, share in ((named, 1 / 5), (numbered, 1 / 4), (digits, 1 / 20)):  # Shares of 2, 1 for both, and 2.
        assert abs(found[pair] - share * count) < 5 * (count * share) ** 0.5
    found = [pair for pair in augmented(pairs=pairs, substitutable=0.5, names=1, numbers=1).epoch(1)]
    assert named not in found and found.count(numbered) + found.count(digits) < 300, "a number is itself by chance only"


def test_months_are_no_names():
    pairs = [("It rains in April.", "Im April regnet es."), ("Tom is here.", "Tom ist da.")] * 20
    found = [*augmented(pairs=pairs, names=1).epoch(0)]
    assert found[::2] == pairs[::2] and all("Tom" not in source for source, _ in found[1::2])


DATED = "I met 2 men on May 3, 1999.", "Ich traf 2 Männer am 3. Mai 1999."


def test_dates_become_dates_whose_numbers_stay():
    pairs = [DATED, ("See you tomorrow.", "Bis morgen."), ("It rains on Monday.", "Am Montag regnet es.")] * 60
    found = [*augmented(pairs=pairs, dates=1, numbers=1).epoch(0)]
    assert found[1::3] == pairs[1::3]  # "until tomorrow" in German.
    for source, target in found[::3]:
        assert "met 2 men" in source and "traf 2 Männer" in target and (source, target) != DATED
    digits = [{*filter(str.isdigit, side)} for pair in found for side in pair]
    assert digits[::2] == digits[1::2]
    assert len({*found[::3], *found[2::3]}) > 80


def test_pairs_with_dates_take_the_place_of_others():
    dated = "It rains on Monday.", "Am Montag regnet es."
    pairs = [dated, *[("the dog", "der Hund"), ("the cat", "die Katze")] * 500]
    found = [*augmented(pairs=pairs, dates=1, substitutable=0.5).epoch(0)]
    count = sum(source.startswith("It rains") for source, _ in found)
    assert abs(count - 500) < 5 * 250**0.5  # The only one with a date.
    assert len({*found}) > 15


def test_without_names_and_numbers_nothing_takes_the_place():
    pairs = [("the dog", "der Hund"), ("the cat", "die Katze")]
    assert [*augmented(pairs=pairs, substitutable=1).epoch(0)] == pairs
