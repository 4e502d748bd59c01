"""Each rule leaves out what its name says, and keeps what is nearly so."""

import pytest

from zoo.preparation.rules import RULES, Duplicates, Rules, default_rules, text_key

GOOD = "The old man went home slowly.", "Der alte Mann ging langsam nach Hause."
CASES = {  # What breaks a rule, and what nearly does.
    "encoding": (
        [("CafÃ© au lait is good.", "x"), ("a \ufffd b", "x"), ("a\x07b", "x"), ("x", "\ue000 y")],
        [("Café au lait, naïve.\tÃ", "Straße – „so“ 🙂 ﬁn"), ("x", "Ça va ?")],
    ),
    "length": ([("a" * 41, "b"), ("a", "b" * 41)], [("a" * 40, "b" * 40)]),
    "letters": ([("12 - 34 / 56", "wort"), ("abc", "==== ab ====")], [("1990 wars", "नमस्ते दुनिया"), ("Ab 12", "Ab 12")]),
    "ratio": ([("a" * 46, "b" * 15), ("b" * 2, "a" * 16)], [("a" * 45, "b" * 15), ("a", "b" * 15)]),
    "copy": ([("Hello there", " hello THERE ")], [("Hello there", "Hello here")]),
    "script": (
        [("Привет, как дела", "gut"), ("good", "你好吗")],
        [("The word Привет means hello to them", "Das α steht für den Winkel"), ("42", "!?")],
    ),
    "language": (
        [GOOD[::-1], ("The old man went home slowly.", "Le vieil homme rentra lentement chez lui.")],
        [GOOD, ("Oui oui", "Yes sir"), ("THE OLD MAN WENT HOME SLOWLY.", GOOD[1])],
    ),
    "overlap": ([("the OLD man went home, slowly!", "x"), ("x", GOOD[0])], [("The old man went home.", "x")]),
}
HELD_OUT = frozenset([text_key(GOOD[0])])


def rules(*names, **changed):
    return Rules(names, ("en", "de"), **{"max_characters": 40, "max_ratio": 3.0, "held_out": HELD_OUT, **changed})


@pytest.mark.parametrize("name", CASES)
def test_a_rule_finds_what_its_name_says_and_nothing_else(name):
    if name in ("encoding", "language"):
        pytest.importorskip({"encoding": "ftfy", "language": "py3langid"}[name])
    rules(name).check(2)
    broken, kept = CASES[name]
    assert [rules(name).broken_by(pair) for pair in broken] == [name] * len(broken)
    assert [rules(name).broken_by(pair) for pair in kept] == [None] * len(kept)


def test_the_first_broken_rule_is_named_and_only_chosen_ones_are_tried():
    both = "1" * 50, "2" * 5
    assert rules("ratio", "length", "letters").broken_by(both) == "length"
    assert rules("ratio", "letters").broken_by(both) == "letters"
    assert rules("ratio").broken_by(both) == "ratio" and rules("copy").broken_by(both) is None


def test_all_rules_that_fit_are_the_default():
    assert {*CASES, "duplicate", "near_duplicate"} == {*RULES}
    assert default_rules(2, ("en", "de")) == tuple(name for name in RULES if name != "overlap")
    assert {*RULES} - {*default_rules(2, ())} == {"script", "language", "overlap"}
    assert {*RULES} - {*default_rules(1, ("en",))} == {"ratio", "copy", "overlap"}


def test_the_first_of_equal_or_nearly_equal_pairs_is_kept():
    pairs = [
        ("I paid 20 euros.", "Ich zahlte 20 Euro."),
        ("i PAID 35 euros", "ich zahlte 35 Euro!"),
        ("I paid 20 euros.", "Ich zahlte 20 Euro."),
        ("I paid 20 euros.", "Ich habe 20 Euro gezahlt."),
        ("?", "!"),
        ("!", "?"),
    ]

    def found(*names):
        duplicates = Duplicates(rules(*names))
        return [duplicates.rule(pair) for pair in pairs]

    assert found("duplicate") == [None, None, "duplicate", None, None, None]
    assert found("duplicate", "near_duplicate") == [None, "near_duplicate", "duplicate", None, None, None]
    assert found("near_duplicate") == [None, "near_duplicate", "near_duplicate", None, None, None]
    assert found() == [None] * len(pairs)


@pytest.mark.parametrize(
    ("changed", "sides", "message"),
    [
        ({"names": ("lenght",)}, 2, "must be different ones of encoding, length.*lenght"),
        ({"names": ("length", "length")}, 2, "different ones"),
        ({"names": ("ratio", "copy")}, 1, "must not be of pairs.*ratio, copy"),
        ({"names": ("language",), "languages": ("en",)}, 2, "language of each side, 2 in all.*en"),
        ({"names": ("script",), "languages": ()}, 1, "language of each side, 1 in all.*none"),
        ({"names": (), "max_ratio": 0.5}, 2, "at least 1.*0.5"),
        ({"names": (), "max_characters": 0}, 2, "at least 1.*0"),
    ],
)
def test_rules_that_do_not_fit_are_refused(changed, sides, message):
    with pytest.raises(ValueError, match=message):
        Rules(**changed).check(sides)


def test_an_unknown_language_is_refused():
    pytest.importorskip("py3langid")
    with pytest.raises(ValueError, match="py3langid knows: .*af, am, .*Received: xx"):
        Rules(("language",), ("en", "xx")).check(2)
