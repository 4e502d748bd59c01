"""The disturbed sets of benchmarks/robustness.py, and what counts as kept."""

import pathlib
import random
import sys

import pytest

BENCHMARKS = pathlib.Path(__file__).parents[1] / "benchmarks"
SOURCES = "Tom is ill.", "Is Mary in?", "Tom ran!", "It rains."
TARGETS = "Tom ist krank.", "Ist Mary da?", "Tom lief!", "Es regnet."
PAIRS = [*zip(SOURCES, TARGETS)]


@pytest.fixture
def robustness(monkeypatch):
    pytest.importorskip("sacrebleu", reason="sacrebleu is not installed")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import robustness

    yield robustness
    for name in ("robustness", "kept_texts"):
        sys.modules.pop(name)


def test_disturbed_sets(robustness):
    sets = {name: pairs for name, (pairs, _) in robustness.disturbed_sets(PAIRS, random.Random(1)).items()}
    assert sets["as they are"] == PAIRS and sets["capitals"][0] == ("TOM IS ILL.", "Tom ist krank.")
    small = [source for source, _ in sets["small letters, no final mark"]]
    assert small == ["tom is ill", "is mary in", "tom ran", "it rains"]
    assert sets["two in one text"][1] == ("Tom ran! It rains.", "Tom lief! Es regnet.")
    for (source, target), (old, reference) in zip(sets["an emoji behind"], PAIRS):
        assert source.startswith(f"{old} ") and target == f"{reference} {source.split()[-1]}"
    for (source, _), (old, _) in zip(sets["two letters swapped"], PAIRS):
        assert source != old and sorted(source) == sorted(old)
    assert {*robustness.disturbed_sets(PAIRS, random.Random(1), ("en", "pl"))} == {*sets}
    more = robustness.disturbed_sets(PAIRS, random.Random(1), ("en", "de"))
    assert {*more} - {*sets} == {"two clauses of one", "a date or a time behind"}
    first, second = PAIRS[0][0].removesuffix("."), PAIRS[1][0][1:]
    (clauses, *_), _ = more["two clauses of one"]
    assert clauses[0].startswith(first) and clauses[0].endswith(second) and clauses[0] != f"{first}. {PAIRS[1][0]}"
    for (source, _), (old, _) in zip(more["a date or a time behind"][0], PAIRS):
        assert source.startswith(old[:-1] + " ") and source[-1] == old[-1]


def test_kept_sets(robustness):
    sets = robustness.kept_sets(PAIRS, "en", random.Random(1))
    names = sets["names instead of Tom"]
    assert len(names) == 2 and all(values[0] in text and "Tom" not in text for text, values in names)
    assert {*sets} == {"names instead of Tom", "addresses", "codes", "a time and a number"}
    for texts in sets.values():
        assert all(value in text for text, values in texts for value in values)
    assert {*robustness.kept_sets(PAIRS, "xx", random.Random(1))} == {"names instead of Tom"}


@pytest.mark.parametrize("source", ["en", "de", "fr"])
@pytest.mark.parametrize("target", ["en", "de", "fr"])
def test_dates_are_those_of_the_target_language(robustness, source, target):
    sets = robustness.kept_sets(PAIRS, source, random.Random(1), target)
    same = robustness.kept_sets(PAIRS, source, random.Random(1), source)
    assert len(sets["dates"]) == 36 and len(sets["months"]) == 24
    for name in ("dates", "months"):
        assert all(robustness.is_kept(value, text) for text, values in same[name] for value in values)
        assert [text for text, _ in sets[name]] == [text for text, _ in same[name]]
        assert len({values[0] for _, values in sets[name]}) == 12


CLOCKS = {
    "en": {
        "half past nine": (30, 9),
        "half past twelve": (30, 12),
        "twenty to one": (-20, 1),
        "quarter past two": (15, 2),
    },
    "de": {"halb zehn": (30, 9), "halb eins": (30, 12), "zwanzig vor eins": (-20, 1), "Viertel nach zwei": (15, 2)},
    "fr": {
        **{"neuf heures et demie": (30, 9), "midi et demi": (30, 12), "une heure moins vingt": (-20, 1)},
        "deux heures et quart": (15, 2),
    },
}


@pytest.mark.parametrize(
    "checkpoint, content, message",
    [
        ("translation/de-en", None, "does not exist"),
        ("translation/de-en", "", "two pairs at least"),
        ("translation/de-en", "Ja.\tYes.\n", "two pairs at least"),
        ("translation/de-en", "no tab\nno tab\n", "column"),
        ("translation/none", "Ja.\tYes.\n", "translation/none"),
        ("labelling/masc-pos-small", "Ja.\tYes.\n" * 2, "must be a translator"),
    ],
)
def test_bad_input_is_one_sentence(robustness, tmp_path, monkeypatch, capsys, checkpoint, content, message):
    path = tmp_path / "pairs.tsv"
    if content is not None:
        path.write_text(content)
    monkeypatch.setattr(sys, "argv", ["robustness.py", "--checkpoint", checkpoint, "--data", str(path)])
    with pytest.raises(SystemExit) as stopped:
        robustness.main()
    error = capsys.readouterr().err
    assert stopped.value.code == 2 and message in error and "Traceback" not in error


@pytest.mark.parametrize("language", [*CLOCKS])
def test_times_of_day(robustness, language):
    """A time is found in its own translation only, in words or in digits, in the morning or in the afternoon."""
    sets = robustness.kept_sets(PAIRS, "en", random.Random(1), language)
    assert len(sets["half hours"]) == 3 * 12 and len({text for text, _ in sets["minutes"]}) == 3 * 8 * 12
    digits = {(30, 9): "9:30", (30, 12): "0.30", (-20, 1): "12:40", (15, 2): "14 h 15"}
    for words, clock in CLOCKS[language].items():
        said = robustness.said_clock(*clock, language)
        found = [other for other in CLOCKS[language] if robustness.is_kept(said, f"... {other.capitalize()}.")]
        assert found == [words]
        assert [other for other in digits if robustness.is_kept(said, f"... {digits[other]}.")] == [clock]


def test_half_hours_are_those_of_the_next_hour_in_german(robustness):
    halves = robustness.kept_sets(PAIRS, "de", random.Random(1), "en")["half hours"]
    assert halves[0][0] == "Der Unterricht endet um halb zwei."
    assert robustness.is_kept(*halves[0][1], "The lesson ends at half past one.")
    assert not robustness.is_kept(*halves[0][1], "The lesson ends at half past two.")


@pytest.mark.parametrize(
    "clock, language, translation, kept",
    [
        ("3:35 pm", "de", "Komm um 3:35 Uhr nachmittags.", True),
        ("3:35 pm", "de", "Komm um 15.35 Uhr.", True),
        ("3:35 pm", "de", "Komm um 3:35 Uhr.", False),
        ("3:35 pm", "de", "Komm um 3:35 Uhr morgens.", False),
        ("3 pm", "de", "Komm um 15 Uhr.", True),
        ("3 pm", "de", "Komm in 15 Tagen.", False),
        ("8 am", "de", "Komm um 8 Uhr morgens.", True),
        ("1 am", "de", "Komm um 1 Uhr nachts.", True),
        ("1 am", "de", "Komm um 1 Uhr.", False),
        ("8 pm", "en", "Come at 8 in the evening.", True),
        ("3 pm", "en", "Come at 3pm.", True),
        ("3 pm", "en", "Come at 3 p.m. today.", True),
        ("3 am", "en", "Come at 3 PM.", False),
        ("9 pm", "en", "Come at 21:00.", True),
        ("3:35 pm", "fr", "Viens à 15 h 35.", True),
        ("9 pm", "fr", "Viens à 9 heures du soir.", True),
        ("9 pm", "fr", "Viens à 9 heures.", False),
    ],
)
def test_am_and_pm(robustness, clock, language, translation, kept):
    assert robustness.is_kept(robustness.said_half_day(clock, language), translation) is kept


@pytest.mark.parametrize("kind, count", [("am and pm", 3 * 11 * 2 * 2), ("from one time to another", 2 * (12 + 11))])
def test_times_are_found_in_their_own_language(robustness, kind, count):
    for language in CLOCKS:
        texts = robustness.kept_sets(PAIRS, language, random.Random(1), language)[kind]
        assert len(texts) == count
        assert all(robustness.is_kept(value, text) for text, values in texts for value in values)
        assert kind == "am and pm" or all(len({*map(str, values)}) == 2 for _, values in texts)


@pytest.mark.parametrize(
    "number, language, translation, kept",
    [
        (20, "en", "He is twenty.", True),
        (20, "en", "He is twenty-one.", False),
        (20, "en", "He is 20.", True),
        (1, "en", "He is twenty-one.", False),
        (21, "de", "Einundzwanzig Leute", True),
        (20, "de", "einundzwanzig Leute", False),
        (4, "fr", "quatre-vingts ans", False),
        (20, "fr", "vingt et un ans", False),
        (21, "fr", "vingt et un ans", True),
        (60, "fr", "soixante et onze ans", False),
    ],
)
def test_numbers_in_words(robustness, number, language, translation, kept):
    assert robustness.is_kept(robustness.said_number(number, language), translation) is kept


@pytest.mark.parametrize(
    "value, translation, kept",
    [
        ("3,482.75", "Es kostet 3.482,75 Euro.", True),
        ("7:45", "um 7.45 Uhr", True),
        ("7:45", "um 7:54 Uhr", False),
        ("7:45", "At 7:45 905 people were there.", True),
        ("905", "At 7:45 905 people were there.", True),
        ("1,200", "At 7.45 1 200 people were there.", True),
        ("1,200", "1.200,5 Meter", False),
        ("12.5", "12,50 Meter", False),
        ("12.5", "um 12.5 Grad", True),
        ("mai", "le 3 mai", True),
        ("mai", "à la maison", False),
        ("3", "on May 3rd", True),
        ("3", "on May 13", False),
        ("1,200", "genau 1200", True),
        ("17", "Gleis 117", False),
        ("AX-4471", "Der Code ist AX-4471.", True),
        ("AX-4471", "Der Code ist AX-471.", False),
        ("192.168.0.17", "Schreiben Sie an 192.168.0.17.", True),
        ("192.168.0.17", "Schreiben Sie an 192.168.0.71.", False),
    ],
)
def test_what_is_kept(robustness, value, translation, kept):
    assert robustness.is_kept(value, translation) is kept


def test_the_names_are_in_no_training_set(robustness):
    """Neither among the syllables that augmentation makes often, nor among the names of carriers."""
    from zoo.corpora.copied_text import random_name

    rng = random.Random(0)
    assert not {random_name(rng) for _ in range(20_000)} & {*robustness.NAMES}
