"""Tests of dates: found in three languages, replaced by the same one on both sides, and by nothing in doubt."""

import datetime
import random
import re

import pytest

from zoo.corpora.dates import MONTHS, WEEKDAYS, Date, Dates, languages_of, write_date

PAIRS = {
    ("en", "de"): [
        ("I'll be back on Monday.", "Am Montag bin ich wieder da."),
        ("I was born on October 20th, 1990.", "Ich bin am 20. Oktober 1990 geboren."),
        ("He died on the 1st of May.", "Er starb am 1. Mai."),
        ("It rains in March.", "Im März regnet es."),
        ("Yesterday it rained.", "Gestern regnete es."),
        ("I'll come tomorrow.", "Ich komme morgen."),
    ],
    ("en", "fr"): [
        ("See you on Friday.", "On se voit vendredi."),
        ("It started on July 14, 1789.", "Cela a commencé le 14 juillet 1789."),
        ("In August it is hot.", "En août il fait chaud."),
        ("I saw him yesterday.", "Je l'ai vu hier."),
    ],
}
CASES = [(languages, pair) for languages, pairs in PAIRS.items() for pair in pairs]
UNCHANGED = [
    ("May I come in?", "Darf ich reinkommen?"),
    ("I'll come tomorrow morning.", "Ich komme morgen früh."),
    ("Good morning.", "Guten Morgen."),
    ("On Monday and on Tuesday.", "Am Montag und am Dienstag."),
    ("On Monday.", "Am Dienstag."),
    ("The day after tomorrow.", "Übermorgen."),
    ("On Mondays.", "Montags."),
    ("They march on.", "Sie marschieren weiter."),
    ("Wait until tomorrow.", "Warte bis morgen."),
    ("Yesterday was cloudy.", "Gestern war es bewölkt."),
    ("Yesterday's paper.", "Die Zeitung von gestern."),
    ("He left on May 3.", "Er ging am 4. Mai."),
    ("He left on May 3.", "Der 3. Mai war der Tag, an dem er ging."),
]


def read(text, language):
    """Returns what a changed text says, by expressions of the test's own: (day, month, year, weekday)."""
    text = text[0].lower() + text[1:] if language == "fr" else text
    months, days = "|".join(MONTHS[language]), "|".join(WEEKDAYS[language])
    month = re.search(rf"\b(?:{months})\b", text)
    weekday = re.search(rf"\b(?:{days})\b", text)
    day = re.search(r"(?<!\d)(\d\d?)(?!\d)", text)
    year = re.search(r"\d{4}", text)
    return (
        day and int(day[1]),
        month and MONTHS[language].index(month[0]),
        year and int(year[0]),
        weekday and WEEKDAYS[language].index(weekday[0]),
    )


@pytest.mark.parametrize("languages, pair", CASES)
def test_both_sides_get_the_same_date(languages, pair):
    seen = set()
    for seed in range(60):
        for sides in (languages, languages[::-1]):
            given = pair if sides == languages else pair[::-1]
            changed = Dates(sides).change(given, random.Random(seed))
            found = {read(text, language) for text, language in zip(changed, sides)}
            assert len(found) == 1, changed
            seen |= found
            assert [text[0].isupper() for text in changed] == [text[0].isupper() for text in given]
            if sides[0] == "en":
                day = re.search(r"(\d+)(st|nd|rd|th)", changed[0])
                assert day is None or day[2] == {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd"}.get(
                    int(day[1]), "th"
                )
    kinds = {tuple(value is not None for value in found) for found in seen}
    assert len(kinds) == 5 and len(seen) > 40  # Days and months, with a year or without, and days of the week.


def test_dates_that_are_no_phrase_keep_their_form():
    pair = "Today is the 3rd of May.", "Heute ist der 3. Mai."
    for seed in range(40):
        source, target = Dates(("en", "de")).change(pair, random.Random(seed))
        assert re.fullmatch(r"Today is the \d+(st|nd|rd|th) of [A-Z]\w+\.", source)
        assert re.fullmatch(r"Heute ist der \d+\. [A-Z]\w+\.", target)
        assert read(source, "en") == read(target, "de")
    pair = "The February of 1990 was cold.", "Der Februar 1990 war kalt."
    assert Dates(("en", "de")).change(pair, random.Random(1)) == pair  # In doubt, as the years differ in place.
    pair = "Last February was cold.", "Der letzte Februar war kalt."
    source, target = Dates(("en", "de")).change(pair, random.Random(1))
    assert read(source, "en")[1] == read(target, "de")[1] != 1


@pytest.mark.parametrize("pair", UNCHANGED)
def test_what_is_in_doubt_stays(pair):
    assert all(Dates(("en", "de")).change(pair, random.Random(seed)) == pair for seed in range(30))


def test_languages_are_found():
    for languages, pairs in PAIRS.items():
        assert languages_of(pairs) == languages
        assert languages_of([pair[::-1] for pair in pairs]) == languages[::-1]
    assert languages_of([("on Monday", "el lunes")]) is None
    assert languages_of([]) is None


@pytest.mark.parametrize("language, expected", [("en", "May 1, 2019"), ("de", "1. Mai 2019"), ("fr", "1er mai 2019")])
def test_dates_are_written_as_in_the_language(language, expected):
    assert write_date(Date(1, 4, 2019), language) == expected
    assert write_date(Date(None, 4, 2019), language) == expected.split()[-2 if language != "en" else 0] + " 2019"


def test_months_are_those_of_the_calendar():
    assert [datetime.date(2000, number, 1).strftime("%B") for number in range(1, 13)] == MONTHS["en"]
    assert [datetime.date(2001, 1, number).strftime("%A") for number in range(1, 8)] == WEEKDAYS["en"]
