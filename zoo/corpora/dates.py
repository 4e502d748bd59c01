"""Dates in English, German and French: found on both sides of sentence pairs and replaced by others. No Keras."""

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

Pair = tuple[str, str]

MONTHS = {
    "en": "January February March April May June July August September October November December".split(),
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(),
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split(),
}
WEEKDAYS = {
    "en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "de": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split(),
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche".split(),
}
CALENDAR = {word for names in (MONTHS, WEEKDAYS) for words in names.values() for word in words}
"""Names of months and days in all languages."""
_NEAR = {"en": ["yesterday", "tomorrow"], "de": ["gestern", "morgen"], "fr": ["hier", "demain"]}
_BEFORE = {
    "en": "after before for until till by since from of is Is about like than the",
    "de": "vor über für bis seit ab von auf ist Ist Bis guten Guten zu gegen",
    "fr": "à avant pour depuis de que est jusqu'à dès À d'ici",
}  # Words before "tomorrow" that would not stand before "on May 3".
_PART_OF_DAY = {
    "en": "(?! morning| afternoon| evening| night| was| is| will be|'s|’s|-)",
    "de": "(?! früh| Früh| Morgen| Vormittag| Mittag| Nachmittag| Abend| Nacht|-)",
    "fr": "(?! matin| midi| soir| après| prochain| dernier|-)",
}


class Date(NamedTuple):
    """A day of a month, a month, a day of the week, or the day before or after today: what is not None.

    Args:
        day: From 1 to 31.
        month: From 0.
        year: Four digits.
        weekday: From 0, Monday.
        near: 0 for yesterday, 1 for tomorrow.
    """

    day: int | None = None
    month: int | None = None
    year: int | None = None
    weekday: int | None = None
    near: int | None = None


@dataclass(frozen=True)
class Dates:
    """Replaces dates by others.

    Args:
        languages: Those of source and target: "en", "de" or "fr".
    """

    languages: tuple[str, str]

    def change(self, pair: Pair, rng: random.Random) -> Pair:
        """Replaces the date of a pair that has one, and the same one, on both sides.

        One inside of a phrase such as "am 3. Mai" becomes any other: a day, a month, a day of the week. Where it stands
        otherwise, as in "der 3. Mai", only day, month and year change.
        """
        if not all(_NAMES[language].search(text) for text, language in zip(pair, self.languages)):
            return pair
        for kinds in (_PHRASES, _BARE):
            found = [[*_mentions(text, kinds[language])] for text, language in zip(pair, self.languages)]
            if [len(side) for side in found] == [1, 1] and found[0][0][1] == found[1][0][1]:
                ((first, date),), ((second, _),) = found
                new = _other(date, rng) if kinds is _BARE else random_date(rng)
                write = _write_bare if kinds is _BARE else _write_phrase
                return tuple(
                    _replaced(text, place, write(new, language, place[0], rng))
                    for text, place, language in zip(pair, (first, second), self.languages)
                )
            if any(found):
                return pair
        return pair


def languages_of(pairs: Iterable[Pair]) -> tuple[str, str] | None:
    """Finds the languages of a corpus by its names of months and days; None if one side is in no known language."""
    words = set(), set()
    for pair in pairs:
        for known, text in zip(words, pair):
            known.update(re.findall(r"\w+", text))
    # How many names of a language occur, not how often: French "hier" is a German word, too.
    counts = [Counter(_LANGUAGE_OF[word] for word in known if word in _LANGUAGE_OF) for known in words]
    return tuple(count.most_common(1)[0][0] for count in counts) if all(counts) else None


def write_date(date: Date, language: str) -> str:
    """Returns a day or a month as it is mostly written: May 3, 2019; 3. Mai 2019; 3 mai 2019."""
    month, year = MONTHS[language][date.month], f" {date.year}" if date.year else ""
    if date.day is None:
        return month + year
    if language == "en":
        return f"{month} {date.day}{',' * bool(year)}{year}"
    return f"{_ordinal(date.day, language)} {month}{year}"


def _ordinal(day, language):
    if language == "de":
        return f"{day}."
    if language == "fr":
        return "1er" if day == 1 else str(day)
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th") if day // 10 != 1 else "th"
    return f"{day}{suffix}"


def _patterns():
    """Returns, for each language, the patterns of dates in phrases and of those that stand alone."""
    phrases, bare = {}, {}
    day, year = r"(?P<day>[0-3]?\d)", r"(?P<year>[12]\d\d\d)"
    for language, names in MONTHS.items():
        month = f"(?P<month>{'|'.join(names)})"
        weekday = f"(?P<weekday>{'|'.join(WEEKDAYS[language])})"
        near = f"(?P<near>{'|'.join(_NEAR[language])})"
        near += f"|^(?P<start>{'|'.join(word.capitalize() for word in _NEAR[language])})"
        end, part = r"(?![\w’'-])", _PART_OF_DAY[language]
        if language == "en":
            dates = [f"{month} {day}(?:st|nd|rd|th)?(?:,? {year})?{end}"]
            dates += [f"(?:the )?{day}(?:st|nd|rd|th)? (?:of )?{month}(?:,? {year})?{end}"]
            before, months, days = "[Oo]n ", "[Ii]n ", "[Oo]n "
        elif language == "de":
            dates, before, months, days = [rf"{day}\. {month}(?: {year})?{end}"], "[Aa]m ", "[Ii]m ", "[Aa]m "
        else:
            dates, before, months = [f"{day}(?:er)? {month}(?: {year})?{end}"], "[Ll]e ", "[Ee]n "
            days = r"(?<!\ble )(?<!\bce )(?<!\bun )(?<!\bdu )(?<!chaque )"
        of_month = rf"{month}(?: {year})?{end}(?! \d)"
        phrases[language] = [rf"\b{before}{date}" for date in dates]
        phrases[language] += [rf"\b{months}{of_month}", rf"\b{days}{weekday}{part}{end}"]
        alone = "".join(f"(?<!{word} )" for word in _BEFORE[language].split())
        phrases[language] += [rf"(?<![\w'’-]){alone}(?:{near}){part}{end}"]
        bare[language] = [rf"\b{date}" for date in dates] + [rf"(?<!^)\b{of_month}"]
    return phrases, bare


_PHRASES, _BARE = ({key: [*map(re.compile, each)] for key, each in kind.items()} for kind in _patterns())
_NAMES = {  # One of these is in every date.
    language: re.compile("|".join([*MONTHS[language], *WEEKDAYS[language], *near, *map(str.capitalize, near)]))
    for language, near in _NEAR.items()
}
_LANGUAGE_OF = {
    word: language
    for language in MONTHS
    for names in (MONTHS, WEEKDAYS, _NEAR)
    for word in names[language]
    if sum(word in others for others in names.values()) == 1
}


def _mentions(text: str, patterns) -> Iterator[tuple[re.Match, Date]]:
    """Yields the dates in a text; the first pattern that matches at a place counts."""
    taken = []
    for pattern in patterns:
        for found in pattern.finditer(text):
            if not any(found.start() < end and start < found.end() for start, end in taken):
                taken.append(found.span())
                yield found, _date(found)


def _date(found):
    values = {name: value for name, value in found.groupdict().items() if value}
    lists = {"month": MONTHS, "weekday": WEEKDAYS, "near": _NEAR}
    numbers = {}
    for name, value in values.items():
        if name in ("day", "year"):
            numbers[name] = int(value)
            continue
        name, value = ("near", value.lower()) if name == "start" else (name, value)
        numbers[name] = next(names.index(value) for names in lists[name].values() if value in names)
    return Date(**numbers)


def _other(date, rng):
    """Returns a date with other numbers for those that it has."""
    day = date.day and rng.randrange(1, 31)
    return Date(day, rng.randrange(12), date.year and rng.randrange(1900, 2100))


def random_date(rng: random.Random) -> Date:
    """Returns a day of a month, a month or a day of the week."""
    kind, year = rng.random(), rng.randrange(1900, 2100) if rng.random() < 0.4 else None
    if kind < 0.6:
        return Date(rng.randrange(1, 31), rng.randrange(12), year)
    return Date(month=rng.randrange(12), year=year) if kind < 0.85 else Date(weekday=rng.randrange(7))


def _write_bare(date, language, old, rng):
    article = "the " if language == "en" and old.startswith("the ") else ""
    if article:
        year = f" {date.year}" if date.year else ""
        return f"{article}{_ordinal(date.day, language)} of {MONTHS[language][date.month]}{year}"
    return write_date(date, language)


def _write_phrase(date, language, old, rng):
    if date.weekday is not None:
        text = {"en": "on ", "de": "am ", "fr": ""}[language] + WEEKDAYS[language][date.weekday]
    elif date.day is None:
        text = {"en": "in ", "de": "im ", "fr": "en "}[language] + write_date(date, language)
    elif language == "en":
        text = f"on {write_english_day(date, rng)}"
    else:
        text = {"de": "am ", "fr": "le "}[language] + write_date(date, language)
    return text[0].upper() + text[1:] if old[0].isupper() else text


def write_english_day(date: Date, rng: random.Random) -> str:
    """Returns a day in one of the ways of English."""
    month, year, kind = MONTHS["en"][date.month], f" {date.year}" if date.year else "", rng.random()
    if kind < 0.6:
        day = date.day if kind < 0.4 else _ordinal(date.day, "en")
        return f"{month} {day}{',' * bool(year)}{year}"
    return f"{date.day} {month}{year}" if kind < 0.8 else f"the {_ordinal(date.day, 'en')} of {month}{year}"


def _replaced(text, place, new):
    return text[: place.start()] + new + text[place.end() :]
