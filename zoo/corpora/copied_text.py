"""Random texts that a translation keeps: names, numbers, addresses, codes, emoji, words of other scripts."""

import random
import string

_ONSETS = "b br c ch cl d dr f fr g gr h j k kl kr l m n p ph pr qu r rh s sch sh sl st t th tr v w y z zh".split()
_CONSONANTS = "bcdfghjklmnpqrstvwxz"
_NUCLEI = "a a a e e e i i i o o o u u y ai ao au ea ee ei ia ie io oa oo ou ua á ä é è í ó ö ø ü".split()
_CODAS = ["", "", "", "", *"b ck d f g k l ll m n nd ng nn p r rd rk s ss st t tt th v x z ć ń ś š ž".split()]
_ENDINGS = [
    "son",
    "sen",
    "ski",
    "ska",
    "ović",
    "ez",
    "ov",
    "eva",
    "ian",
    "mann",
    "berg",
    "ton",
    "ini",
    "escu",
    "dóttir",
]
_SCRIPTS = [
    (0x3B1, 0x3C9),
    (0x430, 0x44F),
    (0x5D0, 0x5EA),
    (0x627, 0x64A),
    (0x905, 0x939),
    (0xE01, 0xE2E),
    (0x3041, 0x3093),
    (0x30A1, 0x30F3),
    (0x4E00, 0x9FA5),
    (0xAC00, 0xD7A3),
]
_EMOJI = [
    (0x1F600, 0x1F64F),
    (0x1F300, 0x1F5FF),
    (0x1F680, 0x1F6C5),
    (0x1F910, 0x1F96B),
    (0x2600, 0x2604),
    (0x2764, 0x2764),
]
_MODIFIERS = [""] * 12 + ["\ufe0f", "\ufe0f", "\U0001f3fb", "\U0001f3fd", "\U0001f3ff", "\u200d\u2642\ufe0f"]
_DOMAINS = "com org net de fr eu io info co.uk edu app dev ch at be ca gov museum".split()
_SUFFIXES = "txt py pdf jpg csv json docx mp3".split()
_UNITS = "km m cm kg g l ml °C °F % MB GB kWh mph km/h Hz".split()
_CURRENCIES = "€ $ £ ¥ EUR USD CHF GBP".split()


def random_name(rng: random.Random) -> str:
    """Returns a word of two to four random syllables with a capital, such as nobody has seen before."""
    syllables = (_onset(rng) + rng.choice(_NUCLEI) for _ in range(rng.choice((1, 2, 2, 2, 3))))
    word = "".join(syllables) + rng.choice(_CODAS)
    word += rng.choice(_ENDINGS) if rng.random() < 0.25 else rng.choice(["", "a", "o", "e", "i", "us"])
    start = rng.choice(["Mc", "O'", "De", "El-", "Al-", "Mac"]) if rng.random() < 0.06 else ""
    return start + word.capitalize()


def _onset(rng):
    """Returns consonants: one in five times any two, for names such as Mkhitar, with onsets that no list has."""
    return "".join(rng.choices(_CONSONANTS, k=2)) if rng.random() < 0.2 else rng.choice(_ONSETS)


def random_number(rng: random.Random) -> str:
    """Returns an integer of at least 2, a decimal number, or one with separators of thousands."""
    kind, whole = rng.random(), rng.randrange(2, 10 ** rng.choice((1, 2, 2, 3, 4, 5)) + 1)
    if kind < 0.6:
        return str(whole)
    if kind < 0.8:
        return f"{whole}{rng.choice('.,')}{rng.randrange(100):0{rng.choice((1, 2))}d}"
    return f"{whole + 1000:,}".replace(",", rng.choice([",", ".", " ", "'"]))


def random_time(rng: random.Random) -> str:
    """Returns a time of day, such as 7:05."""
    hour = rng.randrange(24)
    return f"{hour:0{rng.choice((1, 1, 2))}d}{rng.choice('::.')}{rng.randrange(60):02d}"


def _digits(rng, count):
    return "".join(rng.choices(string.digits, k=count))


def _token(rng):
    alphabet = rng.choice((string.ascii_lowercase, string.ascii_lowercase + string.digits, string.ascii_letters))
    return rng.choice(
        (random_name(rng).lower().replace(" ", ""), "".join(rng.choices(alphabet, k=rng.randrange(2, 9))))
    )


def _price(rng):
    amount, currency = random_number(rng), rng.choice(_CURRENCIES)
    return rng.choice((f"{currency}{amount}", f"{currency} {amount}", f"{amount} {currency}", f"{amount}{currency}"))


def _date(rng):
    day, month, year = rng.randrange(1, 29), rng.randrange(1, 13), rng.randrange(1900, 2100)
    return rng.choice(
        (f"{year}-{month:02d}-{day:02d}", f"{day:02d}/{month:02d}/{year}", f"{day}.{month}.{year}", str(year))
    )


def _phone(rng):
    groups = [_digits(rng, rng.randrange(2, 5)) for _ in range(rng.randrange(2, 5))]
    start = rng.choice(("", "", f"+{rng.randrange(1, 99)} ", f"({_digits(rng, 3)}) ", "0"))
    return start + rng.choice((" ", " ", "-", "/", "")).join(groups)


def _domain(rng):
    return ".".join([*(_token(rng) for _ in range(rng.choice((1, 1, 2)))), rng.choice(_DOMAINS)])


def _url(rng):
    path = "".join(f"/{_token(rng)}" for _ in range(rng.choice((0, 0, 1, 2))))
    query = f"?{_token(rng)}={_digits(rng, 3)}" if rng.random() < 0.2 else rng.choice(("", "", "/", ".html"))
    return rng.choice(("https://", "http://", "https://www.", "www.", "")) + _domain(rng) + path + query * bool(path)


def _mail(rng):
    return f"{_token(rng)}{rng.choice(('', '.', '_', '-'))}{rng.choice((_token(rng), _digits(rng, 2)))}@{_domain(rng)}"


def _code(rng):
    alphabet = rng.choice((string.ascii_uppercase, string.ascii_uppercase + string.digits, string.digits + "abcdef"))
    parts = ["".join(rng.choices(rng.choice((alphabet, string.digits)), k=rng.randrange(1, 6))) for _ in range(3)]
    return rng.choice(("-", "", "/", "_", ".", " ")).join(parts[: rng.choice((1, 2, 2, 3))])


def _handle(rng):
    return rng.choice(("@", "#")) + _token(rng) + rng.choice(("", "", _digits(rng, 2)))


def _file(rng):
    folders = "".join(f"{_token(rng)}/" for _ in range(rng.randrange(3)))
    return f"{rng.choice(('', '/', '~/', './'))}{folders}{_token(rng)}.{rng.choice(_SUFFIXES)}"


def _street(rng):
    number, name = rng.randrange(1, 400), random_name(rng)
    kind = rng.choice(("Street", "Road", "Avenue", "Lane", "straße", "weg", "platz", "allee"))
    return f"{number} {name} {kind}" if kind[0].isupper() else f"{name}{kind} {number}"


def _measure(rng):
    return f"{random_number(rng)} {rng.choice(_UNITS)}"


def _script(rng):
    first, last = rng.choice(_SCRIPTS)
    lengths = (rng.randrange(1, 6) for _ in range(rng.choice((1, 1, 2))))
    return " ".join("".join(chr(rng.randint(first, last)) for _ in range(length)) for length in lengths)


def _emoji(rng):
    characters = (chr(rng.randint(*rng.choice(_EMOJI))) for _ in range(rng.choice((1, 1, 1, 2, 3))))
    return "".join(character + rng.choice(_MODIFIERS) for character in characters)


def _full_name(rng):
    return " ".join(random_name(rng) for _ in range(rng.choice((1, 1, 2))))


_KINDS = {
    _full_name: 4,
    _emoji: 4,
    random_number: 3,
    random_time: 2,
    _code: 3,
    _price: 2,
    _phone: 2,
    _mail: 2,
    _url: 2,
    _script: 2,
    _date: 1,
    _handle: 1,
    _file: 1,
    _street: 1,
    _measure: 1,
}


def random_text(rng: random.Random) -> str:
    """Returns a text of a random kind."""
    return rng.choices([*_KINDS], [*_KINDS.values()])[0](rng)
