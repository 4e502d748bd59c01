"""How much does a translator lose when texts are not as clean as those it was trained on?

    python benchmarks/robustness.py --checkpoint translation/en-de --data dev.tsv

Makes the disturbed sets from any corpus, and prints BLEU (sacreBLEU 13a, or the protocol of the card) and its distance
to the undisturbed score: capitals (scored without case), small letters without the final mark (against the references
as they are), two sentences in one text, an emoji behind, two neighbouring letters swapped, and, for English, German and
French, two sentences as clauses of one, and a date or a time of day at the end. Then the percentage of
texts that are kept: names that replace the most frequent name of the corpus, addresses, codes, times and numbers in
plain sentences, of `kept_texts.py`, and, for English, German and French, what is translated: dates, months, and half
hours and minutes in words, which German counts to the next hour ("halb zehn" is half past nine), am and pm, and numbers
in words.
`--seed` chooses the disturbances, `--limit` takes the first pairs only, `--show N` prints N texts of each set with
their translations.
"""

import argparse
import itertools
import random
import re
import sys
from collections import Counter
from collections.abc import Sequence

from kept_texts import ADDRESSES, CARRIERS, CODES, DATES, HALF_DAYS, NAMES, NUMBERS, TIMES
from rich.console import Console
from rich.table import Table

import zoo
from zoo.corpora.clauses import Clauses
from zoo.corpora.dates import MONTHS, Date, write_date
from zoo.corpora.substitution import Substitution
from zoo.corpora.times import Time, add_time, clock_in_words, clock_of_half_day, write_time
from zoo.corpora.word_links import WORD
from zoo.text.number_words import number_in_words
from zoo.translation.data import open_pairs
from zoo.translation.metrics import bleu

Pair = tuple[str, str]
# A time of day, a number with groups of thousands, or any other.
_NUMBER = re.compile(r"(?<!\d)\d\d?[:.]\d\d(?![\d.,])|\d{1,3}(?:[\s’'.,]\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,:]\d+)*")
_MONTHS = {*itertools.chain.from_iterable(MONTHS.values())}
EMOJI = "😀 😂 ❤ 👍 🎉 😢 🚗 🌞 🍕 🐶".split()


def swap_letters(text: str, rng: random.Random) -> str:
    """Returns the text with two neighbouring letters of a word swapped, such as differ, if there are any."""
    places = [i for i, (a, b) in enumerate(itertools.pairwise(text)) if a.isalpha() and b.isalpha() and a != b]
    if not places:
        return text
    place = rng.choice(places)
    return text[:place] + text[place + 1] + text[place] + text[place + 2 :]


def disturbed_sets(
    pairs: Sequence[Pair], rng: random.Random, languages: tuple[str, str] | None = None
) -> dict[str, tuple[list[Pair], dict]]:
    """Returns disturbed pairs by name, with the options of `bleu` to score them by."""
    emoji = [rng.choice(EMOJI) for _ in pairs]
    sets = {
        "as they are": ([*pairs], {}),
        "capitals": ([(source.upper(), target) for source, target in pairs], {"lowercase": True}),
        "small letters, no final mark": ([(re.sub(r"\s*[.!?]+$", "", s.lower()), t) for s, t in pairs], {}),
        "two in one text": ([tuple(map(" ".join, zip(*two))) for two in zip(pairs[::2], pairs[1::2])], {}),
        "an emoji behind": ([(f"{s} {e}", f"{t} {e}") for (s, t), e in zip(pairs, emoji)], {}),
        "two letters swapped": ([(swap_letters(source, rng), target) for source, target in pairs], {}),
    }
    if languages and all(language in MONTHS for language in languages):
        clauses, twos = Clauses.of(languages, pairs), zip(pairs[::2], pairs[1::2])
        sets["two clauses of one"] = [clauses.join(*two, rng) for two in twos], {}
        sets["a date or a time behind"] = [add_time(pair, languages, rng) for pair in pairs], {}
    return sets


def kept_sets(
    pairs: Sequence[Pair], language: str, rng: random.Random, target: str | None = None
) -> dict[str, list[tuple[str, list[str | re.Pattern]]]]:
    """Returns texts and what their translations into the language `target` have to contain, by name."""
    known = Substitution.of(pairs).known
    shared = (_words(source) & _words(target) & known for source, target in pairs)
    names = Counter(itertools.chain.from_iterable(shared))
    sets = {}
    if names:
        common, _ = names.most_common(1)[0]
        chosen = [source for source, target in pairs if common in _words(source) & _words(target)]
        new = (rng.choice(NAMES) for _ in itertools.count())
        sets[f"names instead of {common}"] = [(s.replace(common, name), [name]) for s, name in zip(chosen, new)]
    for kind, values in (("addresses", ADDRESSES), ("codes", CODES)) if language in CARRIERS else ():
        sets[kind] = [(c.format(value), [value]) for c in CARRIERS[language][kind] for value in values]
    if language in CARRIERS:
        both = [*itertools.product(TIMES, NUMBERS)]
        carriers = CARRIERS[language]["numbers"]
        sets["a time and a number"] = [(c.format(t=t, n=n), [t, n]) for c in carriers for t, n in both]
    if language in CARRIERS and target in MONTHS:
        dates = [Date(*date) for date in DATES]
        sets["dates"] = [
            (carrier.format(write_date(date, language)), [*filter(None, _said(date, target))])
            for carrier in CARRIERS[language]["dates"]
            for date in dates
        ]
        sets["months"] = [
            (carrier.format(month), [there])
            for carrier in CARRIERS[language]["months"]
            for month, there in zip(MONTHS[language], MONTHS[target])
        ]
        for kind, some in (("half hours", (30,)), ("minutes", (5, 10, 15, 20, -5, -10, -15, -20))):
            sets[kind] = [
                (carrier.format(clock_in_words(minutes, hour, language)), [said_clock(minutes, hour, target)])
                for carrier in CARRIERS[language]["clocks"]
                for minutes in some
                for hour in range(1, 13)
            ]
        sets["numbers in words"] = [
            (carrier.format(number_in_words(number, language)), [said_number(number, target)])
            for carrier in CARRIERS[language]["words"]
            for number in range(2, 100)
        ]
        ranges = [((30, hour), (15, hour % 12 + 1)) for hour in range(1, 13)]
        ranges += [(f"{hour} am", f"{hour}:35 pm") for hour in range(1, 12)]
        sets["from one time to another"] = [
            (
                carrier.format(write_time(Time(clock=first, end=last), language, rng)),
                [said_time(first, target), said_time(last, target)],
            )
            for carrier in CARRIERS[language]["ranges"]
            for first, last in ranges
        ]
        sets["am and pm"] = [
            (carrier.format(clock_of_half_day(clock, language)), [said_half_day(clock, target)])
            for carrier in CARRIERS[language]["clocks"]
            for clock in (
                f"{hour}{some} {half}" for hour in range(1, 12) for some in ("", ":35") for half in ("am", "pm")
            )
        ]
    return sets


def said_number(number: int, language: str) -> re.Pattern:
    """Returns what finds a number in a translation, in words or in digits, and not as a part of another one."""
    words = number_in_words(number, language)
    return re.compile(rf"(?<![\w-])(?:{words}(?! et (?:un|onze)\b)|{number})(?![\w-])", re.IGNORECASE)


def said_time(clock: tuple[int, int] | str, language: str) -> re.Pattern:
    """Returns what finds a time of day, of a `Time`, in a translation."""
    return said_half_day(clock, language) if isinstance(clock, str) else said_clock(*clock, language)


def said_clock(minutes: int, hour: int, language: str) -> re.Pattern:
    """Returns what finds a time of day in a translation, in words or in digits."""
    words = re.escape(clock_in_words(minutes, hour, language))
    before = (hour - (minutes < 0) - 1) % 12 + 1  # 3 of 3:40, which is twenty to four.
    digits = rf"0?(?:{before}|{(before + 12) % 24})(?:[:.]| ?h ?){minutes % 60:02}"
    return re.compile(rf"\b(?:{words}|{digits})\b", re.IGNORECASE)


def _said(date, language):
    """Returns what a translation says of a date: month, day, and the year if there is one."""
    return MONTHS[language][date.month], str(date.day), date.year and str(date.year)


def _words(text):
    return {*WORD.findall(text)}


def said_half_day(clock: str, language: str) -> re.Pattern:
    """Returns what finds a time such as 3:30 pm in a translation: with words for that half of the day, or as 15:30."""
    hour, minutes, half = re.fullmatch(r"(\d+)(?::(\d+))? ([ap]m)", clock).groups()
    unit = {"en": "", "de": " Uhr", "fr": " heures?"}[language]
    after = rf"(?:[:.]| ?h ?){minutes}(?:{unit})?" if minutes else rf"(?:[:.]00|h|h00)?(?:{unit})?"
    said = rf"{hour}{after}\s*(?:{HALF_DAYS[language][half]})"
    if half == "pm":
        after = rf"(?:[:.]| ?h ?){minutes}" if minutes else rf"(?:[:.]00|h|h00{f'|{unit}' * bool(unit)})"
        said += rf"|{int(hour) + 12}{after}"
    return re.compile(rf"\b(?:{said})\b", re.IGNORECASE)


def is_kept(value: str | re.Pattern, translation: str) -> bool:
    """Returns whether a translation contains a text, or a number in any notation, such as 3.482,75 for 3,482.75."""
    if isinstance(value, re.Pattern):
        return value.search(translation) is not None
    if re.fullmatch(r"\d+(?:[.,:]\d+)*", value) and value.count(".") < 3:  # With more dots, an address of a machine.
        numbers = _NUMBER.findall(translation)
        return re.sub(r"\D", "", value) in {re.sub(r"\D", "", number) for number in numbers}
    if value in _MONTHS:  # "Mai" is not kept by "Maison".
        return re.search(rf"\b{value}\b", translation) is not None
    return value in translation


def read(options):
    """Returns the translator and the pairs; raises `ValueError` or `OSError` if there are none."""
    translator = zoo.load(options.checkpoint)
    if translator.task != "translation":
        raise ValueError(f"--checkpoint must be a translator. Received: {options.checkpoint}, for {translator.task}.")
    pairs = [*open_pairs(data=options.data, columns=options.columns)][: options.limit]
    if len(pairs) < 2:
        raise ValueError(f"There must be two pairs at least, tab-separated. Received: {len(pairs)} in {options.data}.")
    return translator, pairs


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--checkpoint", default="translation/en-de", help="name or folder")
    arguments.add_argument("--data", required=True, help="tab-separated pairs")
    arguments.add_argument("--columns", type=int, nargs=2, help="source and target column; 0 1 by default")
    arguments.add_argument("--language", help="that of the source; the card's by default")
    arguments.add_argument("--target-language", help="the card's by default")
    arguments.add_argument("--limit", type=int, help="use the first pairs only")
    arguments.add_argument("--beam-size", type=int, help="the checkpoint's by default")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--show", type=int, default=0, help="print some texts and translations")
    options = arguments.parse_args()
    try:
        translator, pairs = read(options)
    except (ValueError, OSError) as error:
        arguments.error(str(error))
    protocol = translator.card.get("bleu", {})
    language = options.language or translator.card.get("source_language")
    target = options.target_language or translator.card.get("target_language")

    def translate(texts):
        found = translator.translate(texts, beam_size=options.beam_size)
        for text, translation in [*zip(texts, found)][: options.show]:
            print(f"  {text}\n    -> {translation}")
        return found

    table, plain = Table("disturbance", "BLEU", "distance"), {}
    for name, (chosen, changes) in disturbed_sets(pairs, random.Random(options.seed), (language, target)).items():
        sources, references = zip(*chosen)
        found = translate(sources)
        changes = {**protocol, **changes}
        for lower in (False, True) if not plain else ():
            plain[lower] = bleu(found, references, **{**protocol, "lowercase": lower}).value
        score = bleu(found, references, **changes).value
        if name == "as they are" and score < 5:
            print(f"BLEU is {score:.2f}: are source and target the right way round? See --columns.", file=sys.stderr)
        table.add_row(name, f"{score:.2f}", f"{score - plain[changes.get('lowercase', False)]:+.2f}")
    Console().print(table)
    table = Table("kept", "texts", "%")
    for name, chosen in kept_sets(pairs, language, random.Random(options.seed), target).items():
        found = translate([text for text, _ in chosen])
        kept = [all(is_kept(value, text) for value in values) for (_, values), text in zip(chosen, found)]
        table.add_row(name, str(len(kept)), f"{100 * sum(kept) / len(kept):.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
