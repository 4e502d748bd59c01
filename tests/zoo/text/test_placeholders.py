"""Tests of placeholders: what they stand for, that nothing is lost, and that the graph does the same."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.text.placeholders import LOST, MOST, hide, hide_pair, placeholder, restore

KEPT = [
    "https://docs.python.org/3/library/re.html",
    "http://localhost:8080/admin",
    "ftp://files.example.org/a_b",
    "www.example.at",
    "www.été.fr",
    "github.com/example/project",
    "example.co.uk",
    "some.host/path?a=1",
    "first.last+tag@mail.example.io",
    "@green_lamp",
    "#Müll2024",
    "#wetter",
    "192.168.0.17",
    "v2.10.3",
    "+49 30 5550 1739",
    "+33 6 12 34 56 78",
    "06 12 34 56 78",
    "06.12.34.56.78",
    "(415) 555-2671",
    "0171 2345678",
    "555-2671",
    "978-3-16-148410-0",
    "AX-4471",
    "INV/2023/0815",
    "7F3K-99QL",
    "B12",
    "WPA2-KEY",
    "c0ffee42",
    "ZX_81",
    "DE89370400440532013000",
    "COVID-19",
    "snake_case",
    "C:\\temp\\x",
    "Q&A",
    "x=5",
    "<br/>",
    '<a href="https://example.org/?a=1">',
    "</p><p>",
    "{name}",
    "${x.y}",
    "{{ name }}",
    "%s",
    "%1$d",
    "%(name)s",
    "&amp;",
    "=>",
]
TRANSLATED = [
    "Meet me at 5pm on the 3rd, at 10AM or 5PM.",
    "It was 20km in the 1990s, at 3:45 p.m.",
    "He is 80-years-old. 5-minütig, 24-hour.",
    "It costs 1,200.50 or 1.200,50 dollars; 1.000.000.000 more.",
    "She came home.It was late, e.g. in the U.S.A.",
    "Le 24.12.2020 à 15h30, 2ème, 9H30",
    "The score was 3-1; 1/2 of 3/4, 2020/21, 1990-91.",
    "I am #5 of TOP 10 in ROOM 12.",
    "100m2, 5€, $5, 50%, 20°C",
    "50% sind da, 20 %de, so-so - ja",
]


@pytest.mark.parametrize("text", KEPT)
def test_addresses_and_codes_are_hidden(text):
    for before, after in (("", ""), ("See ", "."), ("Is it (", ")?"), ("Look: ", ", please"), ("„", "“!")):
        hidden, kept = hide(f"{before}{text}{after}")
        assert (hidden, kept) == (f"{before}{placeholder(0)}{after}", [text])


@pytest.mark.parametrize(
    "text, read",
    [
        ("<b>Hello</b> world", "0 Hello 1 world"),
        ("**bold** and *(nice)*.", "0 bold 1 and 2 (nice) 3."),
        ("(<b>x</b>), <i>", "(0 x 1), 2"),
        ("Hi, {name}!", "Hi, 0!"),
        ("x<br/>https://example.org</a>y", "x 0 1 2 y"),
        ("Tom & Mary < 5", "Tom 0 Mary 1 5"),
    ],
)
def test_markup_that_touches_words_is_read_with_spaces(text, read):
    hidden, kept = hide(text)
    assert re.sub("[\ue000-\ue010]", lambda found: str(ord(found[0]) - 0xE000), hidden) == read
    assert restore(hidden, kept) == text
    assert hide_pair(text, text) == (hidden, hidden)


@pytest.mark.parametrize("text", TRANSLATED)
def test_what_languages_write_differently_is_not_hidden(text):
    assert hide(text) == (text, [])


def test_several_are_numbered_in_order():
    hidden, kept = hide("Write to a@b.org about B12, or to a@b.org.")
    assert hidden == f"Write to {placeholder(0)} about {placeholder(1)}, or to {placeholder(2)}."
    assert kept == ["a@b.org", "B12", "a@b.org"]
    assert restore(f"{placeholder(2)}: {placeholder(1)}", kept) == "a@b.org: B12"


def test_placeholders_that_stand_for_nothing_are_removed():
    assert restore(f"a {placeholder(3)}b", ["x"]) == "a b"


def test_placeholders_of_the_text_itself_are_lost():
    assert hide(f"a{placeholder(5)}") == (f"a{LOST}", [])


def test_number_of_placeholders_is_limited():
    text = " ".join(f"A{i}" for i in range(MOST + 3))
    hidden, kept = hide(text)
    assert len(kept) == MOST and hidden.endswith(f" A{MOST} A{MOST + 1} A{MOST + 2}")
    assert restore(hidden, kept) == text


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from([*"ab1 2.@/-:AB(é\n中🙂<>*_{}%s&;=", "www.", "https://", "<b>"]), max_size=40).map("".join)
)
def test_nothing_is_lost(text):
    assert restore(*hide(text)) == text


def test_pairs_share_placeholders_of_what_is_on_both_sides():
    source, target = hide_pair("Read www.a.org, B12 and C3.", "Lies B12, D4 und www.a.org!")
    assert source == f"Read {placeholder(0)}, {placeholder(1)} and C3."
    assert target == f"Lies {placeholder(1)}, D4 und {placeholder(0)}!"


def test_a_part_of_another_code_is_not_the_same():
    assert hide_pair("See B12.", "Siehe AB12X.") == ("See B12.", "Siehe AB12X.")
