"""Tests of added times: all languages say the same, at a place where the language has it."""

import random
import re

import pytest

from zoo.corpora.dates import MONTHS, WEEKDAYS, Date
from zoo.corpora.times import Time, add_time, random_phrase, write_time

HOURS = {
    "en": "one two three four five six seven eight nine ten eleven twelve".split(),
    "de": "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf".split(),
    "fr": "une deux trois quatre cinq six sept huit neuf dix onze midi".split(),
}
BEFORE = {
    "en": {"by": "by", "until": "until", "since": "since", "before": "before", "after": "after"},
    "de": {"seit": "since", "vor": "before", "nach": "after"},
    "fr": {"d'ici": "by", "jusqu": "until", "depuis": "since", "avant": "before", "après": "after"},
}


HALF_DAYS = {  # Hours from 0 to 23.
    "en": {"am": range(12), "pm": range(12, 24)},
    "de": {"nachts": range(4), "morgens": range(4, 12), "nachmittags": range(12, 18), "abends": range(18, 24)},
    "fr": {"du matin": range(12), "de l'après-midi": range(12, 18), "du soir": range(18, 24)},
}


def clock(text, language):
    """Returns the time in minutes of a time in words, by rules of the test's own, or the digits, or None."""
    if re.search("12 ?am|Mitternacht|minuit", text, re.I):
        return "midnight"
    if re.search("12 ?pm|12 Uhr mittags", text, re.I):
        return 0  # As "midi".
    half_day = re.search(rf"(\d+)(?:[:h](\d\d))?(?: Uhr| heures?)? ?({'|'.join(HALF_DAYS[language])})\b", text, re.I)
    if half_day:
        hours = HALF_DAYS[language][half_day[3].lower()]
        (hour,) = {int(half_day[1]), int(half_day[1]) + 12} & {*hours}
        return f"{hour}:{half_day[2] or '00'} of 24"
    digits = re.search(r"\d+[:.]\d\d", text)
    if digits:
        return digits[0]
    words = "|".join(HOURS[language]) + ("|ein" if language == "de" else "")
    pattern = {
        "en": rf"at (?:(half past|(?:quarter|five|ten|twenty) (?:past|to)) )?({words})",
        "de": rf"um (?:(halb|(?:Viertel|fünf|zehn|zwanzig) (?:nach|vor)) )?({words})\b",
        "fr": rf"à ()({words})(?: heures?)?((?: et| moins)?(?: demie?| quart| le quart| cinq| dix| vingt))?(?: |$)",
    }[language]
    found = re.search(pattern, text)
    if not found:
        return None
    hour = HOURS[language].index({"ein": "eins"}.get(found[2], found[2])) + 1
    minutes = (found[3] if language == "fr" else found[1]) or ""
    sizes = {
        5: "five fünf cinq",
        10: "ten zehn dix",
        15: "quarter Viertel quart",
        20: "twenty zwanzig vingt",
        30: "half halb demi demie",
    }
    (size,) = [size for size, names in sizes.items() if {*names.split()} & {*minutes.split()}] or [0]
    back = {*minutes.split()} & {"to", "vor", "moins", "halb"}
    return (hour * 60 + (-size if back else size)) % 720


def read(text, language):
    """Returns what a time says: days, months, year, days of the week, clock, and the preposition if it is clear."""
    rest = re.sub(r"\b(at|um|à) \d+([:.h]\d\d)?( Uhr| heures?|(?= ?[ap]m))?", "", text, flags=re.I)
    numbers = [int(number) for number in re.findall(r"\d+", rest)]
    before = [meaning for word, meaning in BEFORE[language].items() if re.search(rf"^{word}\b", text)]
    return {
        "days": [number for number in numbers if number < 32],
        "months": {MONTHS[language].index(word) for word in re.findall("|".join(MONTHS[language]), text)},
        "year": [number for number in numbers if number > 32],
        "weekdays": [WEEKDAYS[language].index(word) for word in re.findall("|".join(WEEKDAYS[language]), text)],
        "clock": clock(text, language),
        "before": before[0] if before else None,
    }


def test_all_languages_say_the_same():
    kinds, ranges = set(), []
    for seed in range(600):
        time = random_phrase(random.Random(seed))
        if time.end:
            ranges.append(time)
            time = time._replace(end=None)
        texts = {language: write_time(time, language, random.Random(seed)) for language in HOURS}
        english, german, french = (read(text, language) for language, text in texts.items())
        if german["before"] is None:  # "Bis" is "by" and "until", "am" and "um" are the others.
            german["before"] = english["before"]
            assert texts["de"].startswith("bis") == (english["before"] in ("by", "until")), texts
        assert english == german == french, texts
        kinds.add(tuple(bool(value) or value == 0 for value in english.values()))
    assert len(kinds) > 12 and len(ranges) > 30
    for time in ranges:  # Of what the times alone are.
        for language, (first, between) in {
            "en": ("from ", " to "),
            "de": ("von ", " bis "),
            "fr": ("d", " à "),
        }.items():
            alone = [write_time(Time(clock=clock), language, random.Random(0)) for clock in (time.clock, time.end)]
            texts = [text.split(" ", 1)[1].lower().replace(" ", "") for text in alone]
            found = write_time(time, language, random.Random(0)).lower()
            assert found.startswith(first) and between in found
            start, end = found.removeprefix(first).replace(" ", "").split(texts[0], 1)
            assert start in ("", "e", "'") and end == between.strip() + texts[1]


@pytest.mark.parametrize(
    "time, german, french",
    [
        (
            Time(Date(4, 5, weekday=1), clock=(30, 9)),
            "am Dienstag, dem 4. Juni, um halb zehn",
            "le mardi 4 juin à neuf heures et demie",
        ),
        (Time(Date(31, 2, 2025), "by"), "bis zum 31. März 2025", "d'ici au 31 mars 2025"),
        (Time(Date(1, 2, weekday=0), "until"), "bis Montag, den 1. März", "jusqu'au lundi 1er mars"),
        (Time(Date(3, 4), last=Date(7, 4, 2020)), "vom 3. bis zum 7. Mai 2020", "du 3 au 7 mai 2020"),
        (Time(Date(weekday=0), last=Date(weekday=4)), "von Montag bis Freitag", "du lundi au vendredi"),
        (Time(Date(month=7), "until"), "bis August", "jusqu'en août"),
        (Time(clock=(30, 12)), "um halb eins", "à midi et demi"),
        (Time(clock=(0, 1)), "um ein Uhr", "à une heure"),
        (Time(clock=(-15, 5)), "um Viertel vor fünf", "à cinq heures moins le quart"),
        (Time(clock=(10, 1)), "um zehn nach eins", "à une heure dix"),
        (Time(clock=(-20, 11)), "um zwanzig vor elf", "à onze heures moins vingt"),
        (Time(clock="3:30 pm"), "um 3:30 Uhr nachmittags", "à 3h30 de l'après-midi"),
        (Time(clock="9 pm"), "um 9 Uhr abends", "à 9 heures du soir"),
        (Time(clock="1 am"), "um 1 Uhr nachts", "à 1 heure du matin"),
        (Time(clock="10:05 am"), "um 10:05 Uhr morgens", "à 10h05 du matin"),
        (Time(clock="12 pm"), "um 12 Uhr mittags", "à midi"),
        (Time(clock="12 am"), "um Mitternacht", "à minuit"),
        (Time(clock=(0, 1), end=(30, 2)), "von ein Uhr bis halb drei", "d'une heure à deux heures et demie"),
        (
            Time(clock="9 am", end="4:30 pm"),
            "von 9 Uhr morgens bis 4:30 Uhr nachmittags",
            "de 9 heures du matin à 4h30 de l'après-midi",
        ),
    ],
)
def test_times_are_written_as_in_the_language(time, german, french):
    assert write_time(time, "de", random.Random(0)) == german
    assert write_time(time, "fr", random.Random(0)) == french


@pytest.mark.parametrize(
    "german, expected",
    [
        ("Ich kaufe ein Auto.", "Ich kaufe ein Auto #."),
        ("Er hat ein Auto gekauft.", "Er hat ein Auto # gekauft."),
        ("Er sagt, dass er kommen wird.", "Er sagt, dass er # kommen wird."),
        ("Ich kenne ihn.", "Ich kenne ihn #."),
        ("Sie sieht nicht gut aus.", "Sie sieht # nicht gut aus."),
        ("Das ist leicht zu verstehen.", "Das ist # leicht zu verstehen."),
        ("Komm mit!", "Komm mit #!"),
        ("Wirklich?", "Wirklich #?"),
    ],
)
def test_german_verbs_come_last(german, expected):
    source, target = add_time(("Yes.", german), ("en", "de"), random.Random(5))
    phrase = target[expected.index("#") : len(target) - len(expected) + expected.index("#") + 1]
    assert target == expected.replace("#", phrase)
    english = read(source.removeprefix("Yes ").rstrip("."), "en")
    assert {**read(phrase, "de"), "before": english["before"]} == english


def test_french_times_are_read_in_their_notations():
    found = {add_time(("Oh !", "Oh!"), ("fr", "en"), random.Random(seed)) for seed in range(300)}
    notations = {re.sub(r"\d+", "9", time) for s, _ in found for time in re.findall(r"\d+(?:[:.]| ?h ?)\d\d\b", s)}
    assert notations == {"9:9", "9.9", "9h9", "9 h 9"}
    for french, english in found:
        assert re.findall(r"\d+", french) == re.findall(r"\d+", english) or not re.search(r"\d[:.]\d", english)


def test_french_marks_keep_their_space_and_other_texts_stay():
    target = add_time(("Oh!", "Oh !"), ("en", "fr"), random.Random(1))[1]
    assert re.fullmatch(r"Oh \S.*\S !", target)
    for pair in [("No mark", "Ohne Zeichen"), ("One.", "Eins"), ("?", "?"), ("", "")]:
        assert add_time(pair, ("en", "de"), random.Random(1)) == pair
