"""Dates and times of day that are added to sentence pairs in English, German and French. No Keras."""

import random
import re
from typing import NamedTuple

from zoo.corpora.copied_text import random_time
from zoo.corpora.dates import MONTHS, WEEKDAYS, Date, random_date, write_date, write_english_day

Pair = tuple[str, str]

_MARKS = ".!?"
_CLOCK = re.compile(r"\b(\d\d?):(\d\d)\b")
_HOURS = {
    "en": "one two three four five six seven eight nine ten eleven twelve".split(),
    "de": "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf".split(),
    "fr": "une deux trois quatre cinq six sept huit neuf dix onze douze".split(),
}
_MINUTES = {
    "en": {5: "five", 10: "ten", 15: "quarter", 20: "twenty"},
    "de": {5: "fünf", 10: "zehn", 15: "Viertel", 20: "zwanzig"},
    "fr": {5: "cinq", 10: "dix", 20: "vingt"},
}
_HALF_DAYS = {  # From 1 to 3 am, to 11 am, to 5 pm, to 11 pm.
    "en": ("am", "am", "pm", "pm"),
    "de": ("nachts", "morgens", "nachmittags", "abends"),
    "fr": ("du matin", "du matin", "de l'après-midi", "du soir"),
}
_BEFORE = {  # The words before a day of the week, a day of a month, a month.
    "on": {"en": ("on", "on", "in"), "de": ("am", "am", "im"), "fr": ("", "le", "en")},
    "by": {"en": ("by",) * 3, "de": ("bis", "bis zum", "bis"), "fr": ("d'ici", "d'ici au", "d'ici")},
    "until": {"en": ("until",) * 3, "de": ("bis", "bis zum", "bis"), "fr": ("jusqu'à", "jusqu'au", "jusqu'en")},
    "since": {"en": ("since",) * 3, "de": ("seit", "seit dem", "seit"), "fr": ("depuis", "depuis le", "depuis")},
    "before": {"en": ("before",) * 3, "de": ("vor", "vor dem", "vor"), "fr": ("avant", "avant le", "avant")},
    "after": {"en": ("after",) * 3, "de": ("nach", "nach dem", "nach"), "fr": ("après", "après le", "après")},
}
_RANGES = {  # Two days of the week, two days of a month.
    "en": ("from {} to {}", "from {} to {}"),
    "de": ("von {} bis {}", "vom {} bis zum {}"),
    "fr": ("du {} au {}", "du {} au {}"),
}
_CLOCK_RANGES = {"en": "from {} to {}", "de": "von {} bis {}", "fr": "de {} à {}"}
_MIDDLES = {"12 am": {"de": "Mitternacht", "fr": "minuit"}, "12 pm": {"de": "12 Uhr mittags", "fr": "midi"}}
# German words that may end a sentence behind a time; before the others, as before its last verbs, a time stands.
_PRONOUNS = (
    "ich du er sie es wir ihr mich dich ihn uns euch mir dir ihm ihnen sich mein dein sein meins deins das dies jemand "
    "niemand nichts etwas alles viel wenig so was wer wo wie warum wann an"
).split()
_LAST_VERBS = (
    "ist sind war waren bin bist hat haben hast habe hatte hatten wird werden wurde wurden worden kann können konnte "
    "konnten muss müssen musste mussten soll sollen sollte sollten will wollen wollte wollten würde würden darf dürfen"
).split()
_ADVERBS = (
    "nicht zu gut sehr so auch noch mehr immer wieder ganz gern gerne schon nie nur oft leicht lange allein".split()
)


class Time(NamedTuple):
    """A date with what stands before it, a time of day, a range of two dates or times, or a date with a time.

    Args:
        date: None if there is a time of day only.
        before: "on", "by", "until", "since", "before" or "after".
        last: Last date of a range, of the same kind as `date`.
        clock: A time of day, as (minutes after the hour, or negative, hour from 1 to 12), or in digits, such as 15:30,
            3:30 pm and 3 am, from 1 to 11 hours with am and pm, or 12 am or 12 pm.
        end: End of a range of times of day that `clock` begins.
    """

    date: Date | None = None
    before: str = "on"
    last: Date | None = None
    clock: tuple[int, int] | str | None = None
    end: tuple[int, int] | str | None = None


def random_phrase(rng: random.Random) -> Time:
    """Returns a random time."""
    notation, kind = rng.random(), rng.random()
    clock = _random_clock(notation, rng)
    if kind < 0.1:
        return Time(clock=clock, end=_random_clock(notation if rng.random() < 0.8 else rng.random(), rng))
    if kind < 0.35:
        return Time(clock=clock)
    date = random_date(rng)
    if date.day and rng.random() < 0.3:
        date = date._replace(weekday=rng.randrange(7))
    if kind < 0.5 and date.month is None:
        return Time(date, last=Date(weekday=rng.randrange(7)))
    if kind < 0.5 and date.day and date.day <= 20:
        date = date._replace(weekday=None)
        return Time(date._replace(year=None), last=date._replace(day=date.day + rng.randrange(1, 10)))
    before = "on" if kind < 0.75 else rng.choice([*_BEFORE])
    timed = before == "on" and (date.day or date.weekday is not None) and rng.random() < 0.3
    return Time(date, before, clock=clock if timed else None)


def _random_clock(notation, rng):
    if notation < 0.2:
        return random_time(rng)
    if notation < 0.4:
        if rng.random() < 0.08:
            return rng.choice([*_MIDDLES])
        minutes = rng.choice(("", "", f":{rng.randrange(0, 60, 5):02}", f":{rng.randrange(60):02}"))
        return f"{rng.randrange(1, 12)}{minutes} {rng.choice(('am', 'pm'))}"
    minutes = (0, 0, 15, -15, 30, 30, 30, *rng.sample((5, 10, 20, -5, -10, -20), 3))
    return rng.choice(minutes), rng.randrange(1, 13)


def write_time(time: Time, language: str, rng: random.Random) -> str:
    """Returns a time in "en", "de" or "fr"; English has several ways to write a day."""
    parts = []
    if time.last:
        parts.append(_write_range(time, language, rng))
    elif time.date:
        parts.append(_write_date(time.date, time.before, language, rng))
    if time.clock:
        clocks = [_write_clock(clock, language, rng) for clock in (time.clock, time.end) if clock]
        if time.end:
            text = _CLOCK_RANGES[language].format(*clocks)
            parts.append(text.replace("de une", "d'une") if language == "fr" else text)
        else:
            parts.append({"en": "at", "de": "um", "fr": "à"}[language] + f" {clocks[0]}")
    comma = "," if language == "de" and time.date and time.date.day and time.date.weekday is not None else ""
    return f"{comma} ".join(parts)


def _write_date(date, before, language, rng):
    kind = 1 if date.day else 0 if date.month is None else 2
    word = _BEFORE[before][language][kind]
    if date.day is None:
        text = WEEKDAYS[language][date.weekday] if date.month is None else write_date(date, language)
    else:
        text = write_english_day(date, rng) if language == "en" else write_date(date, language)
        if date.weekday is not None:
            weekday = WEEKDAYS[language][date.weekday]
            if language == "de":  # "Bis" is followed by the accusative, the others by the dative.
                word, article = word.split()[0], "den" if word.startswith("bis") else "dem"
                text = f"{weekday}, {article} {text}"
            else:
                text = f"{weekday}{',' * (language == 'en')} {text}"
    return f"{word} {text}".strip()


def _write_range(time, language, rng):
    first, last = time.date, time.last
    kind = 1 if first.day else 0
    if not first.day:
        texts = [WEEKDAYS[language][date.weekday] for date in (first, last)]
    elif language == "en":
        month, year = MONTHS["en"][last.month], f", {last.year}" if last.year else ""
        again = rng.random() < 0.5
        texts = [f"{month} {first.day}", f"{f'{month} ' * again}{last.day}{year}"]
    else:
        texts = [write_date(date, language) for date in (first, last)]
        texts[0] = texts[0].split()[0]  # The month follows the second day only.
    return _RANGES[language][kind].format(*texts)


def _write_clock(clock, language, rng):
    if not isinstance(clock, str):
        return clock_in_words(*clock, language)
    if not clock.endswith("m"):
        return f"{clock} Uhr" if language == "de" else clock
    text = clock_of_half_day(clock, language)
    return rng.choice((text, text, text.upper(), text.replace(" ", ""))) if language == "en" else text


def clock_of_half_day(clock: str, language: str) -> str:
    """Returns a time such as 3:30 pm or 3 am in "en", "de" or "fr": 3:30 Uhr nachmittags, 3 heures du matin."""
    if clock in _MIDDLES:
        return _MIDDLES[clock].get(language, clock)
    digits, half = clock.split()
    hour, _, minutes = digits.partition(":")
    part = _HALF_DAYS[language][2 * (half == "pm") + (int(hour) > (5 if half == "pm" else 3))]
    if language == "fr":
        digits = f"{hour}h{minutes}" if minutes else f"{hour} heure{'s' * (hour != '1')}"
    return f"{digits}{' Uhr' * (language == 'de')} {part}"


def clock_in_words(minutes: int, hour: int, language: str) -> str:
    """Returns a time of day in words, such as half past nine, halb zehn, neuf heures et demie.

    Args:
        minutes: After the hour, or negative: 0, 15, 30, -15; 5, 10, 20 and their negatives.
        hour: From 1 to 12.
        language: "en", "de" or "fr".
    """
    hours, some = _HOURS[language], _MINUTES[language].get(abs(minutes))
    name, following = hours[hour - 1], hours[hour % 12]
    if language == "en":
        whole = {0: f"{name} o'clock", 30: f"half past {name}"}
        return whole.get(minutes, f"{some} {'past' if minutes > 0 else 'to'} {name}")
    if language == "de":
        whole = {0: f"{'ein' if hour == 1 else name} Uhr", 30: f"halb {following}"}
        return whole.get(minutes, f"{some} {'nach' if minutes > 0 else 'vor'} {name}")
    unit = "midi" if hour == 12 else f"{name} heure{'s' * (hour > 1)}"
    parts = {0: "", 15: " et quart", 30: " et demi" + "e" * (hour < 12), -15: " moins le quart"}
    return unit + parts.get(minutes, f"{' moins' * (minutes < 0)} {some}")


def add_time(pair: Pair, languages: tuple[str, str], rng: random.Random) -> Pair:
    """Adds a date or a time of day at the end of a pair of sentences, in German before the verbs that end it."""
    if any(text[-1:] not in _MARKS or not text[:-1].strip() for text in pair):
        return pair
    time = random_phrase(rng)
    phrases = [write_time(time, language, rng) for language in languages]
    if languages[0] == "fr":  # Read in any notation; as a translation, digits stay as they are.
        phrases[0] = _CLOCK.sub(rng.choice((r"\g<0>", r"\1h\2", r"\1 h \2")), phrases[0])
    return tuple(map(_added, pair, phrases, languages))


def _added(text, phrase, language):
    body = text.rstrip("".join(_MARKS) + " \u00a0\u202f")
    mark = text[len(body) :]
    before, after = body, ""
    if language == "de":
        before, after = _before_verbs(body)
    return f"{before} {phrase}{after}{mark}"


def _before_verbs(text):
    """Divides a German sentence before the verbs, participles and the like that end it."""
    words = text.split(" ")
    place = len(words)
    if len(words) > 2 and _may_follow(words[-1]):
        place -= 1
        if words[-1] in _LAST_VERBS and place > 2 and _may_follow(words[-2]):
            place -= 1
        while place > 2 and words[place - 1] in _ADVERBS:
            place -= 1
    return " ".join(words[:place]), "".join(f" {word}" for word in words[place:])


def _may_follow(word):
    return re.fullmatch("[a-zäöüß]{2,}", word) and word not in _PRONOUNS
