"""Numbers in words in English, German and French. No Keras."""

import random

_SMALL = {  # From 0 to 19 in English and German, to 16 in French.
    "en": (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen"
    ).split(),
    "de": (
        "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn "
        "siebzehn achtzehn neunzehn"
    ).split(),
    "fr": (
        "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept "
        "dix-huit dix-neuf"
    ).split(),
}
_TENS = {
    "en": "twenty thirty forty fifty sixty seventy eighty ninety".split(),
    "de": "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split(),
    "fr": "vingt trente quarante cinquante soixante soixante quatre-vingt quatre-vingt".split(),
}
LANGUAGES = tuple(_SMALL)


def random_number_in_words(rng: random.Random) -> int:
    """Returns a number from 2 to 1,000 as people write them in words: mostly below 100, tens, or whole hundreds."""
    kind = rng.random()
    if kind < 0.28:
        return rng.randrange(2, 21)
    if kind < 0.45:
        return 10 * rng.randrange(2, 10)
    if kind < 0.87:
        return rng.randrange(21, 100)
    return 100 * rng.randrange(1, 11) if kind < 0.93 else rng.randrange(101, 1000)


def number_in_words(number: int, language: str) -> str:
    """Returns a number from 0 to 1,000 in "en", "de" or "fr"."""
    if number == 1000:
        return {"en": "one thousand", "de": "eintausend", "fr": "mille"}[language]
    if number >= 100:
        return _hundreds(*divmod(number, 100), language)
    if number < 20:
        return _SMALL[language][number]
    tens, ones = divmod(number, 10)
    ten = _TENS[language][tens - 2]
    if language == "fr":
        return _french(ten, tens, ones)
    if not ones:
        return ten
    one = _SMALL[language][ones]
    return f"{ten}-{one}" if language == "en" else f"{'ein' if ones == 1 else one}und{ten}"


def _hundreds(count, rest, language):
    one, rest = _SMALL[language][count], number_in_words(rest, language) if rest else ""
    if language == "en":
        return f"{one} hundred{' and ' * bool(rest)}{rest}"
    if language == "de":
        return f"{'ein' if count == 1 else one}hundert{rest}"
    hundreds = "cent" if count == 1 else f"{one} cent{'' if rest else 's'}"
    return f"{hundreds} {rest}".rstrip()


def _french(ten, tens, ones):
    """The seventies and nineties go on from ten; only eighty without another number has an s."""
    if tens in (7, 9):
        ones += 10
    if not ones:
        return f"{ten}s" if tens == 8 else ten
    and_one = ones % 10 == 1 and tens < 8
    return f"{ten} et {_SMALL['fr'][ones]}" if and_one else f"{ten}-{_SMALL['fr'][ones]}"
