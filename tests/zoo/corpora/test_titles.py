"""Tests of titles: the same name behind the same title on both sides, with the forms of the language."""

import itertools
import random
import re

import pytest

from zoo.corpora.titles import Titles

NAMES = frozenset({"Tom", "Boston"})
TITLES = {"Mr.": "Herr", "Mrs.": "Frau", "Ms.": "Frau", "Miss": "Frau", "Dr.": "Dr.", "Professor": "Professor"}


def made(languages=("en", "de")):
    return Titles.of(languages, [("The baker sees a fox.", "Der Bäcker sieht einen Fuchs.")])


def test_names_get_the_same_title_and_name():
    seen, names = set(), set()
    for seed in range(300):
        source, target = made().change(("Tom sleeps.", "Tom schläft."), NAMES, random.Random(seed))
        (title, name), (other, same) = (text.rsplit(" ", 1)[0].rsplit(" ", 1) for text in (source, target))
        assert TITLES[title] == other and name == same != "Tom"
        seen.add(title)
        names.add(name)
    assert seen == {*TITLES}
    assert {"Baker", "Fox", "Bäcker", "Fuchs"} <= names and len(names) > 100


@pytest.mark.parametrize(
    "source, target, title",
    [
        ("Tom sleeps.", "Tom schläft.", "Herr"),
        ("I see Tom.", "Ich sehe Tom.", "Herrn"),
        ("I don't like Tom.", "Tom mag ich nicht.", "Herrn"),
        ("Tom came yesterday.", "Gestern kam Tom.", "Herr"),
        ("Yesterday Tom came.", "Gestern kam Tom.", "Herr"),
        ("Give it to Tom.", "Gib es Tom.", "Herrn"),
        ("Is Tom here?", "Ist Tom da?", "Herr"),
        ("I think that Tom knows.", "Ich glaube, dass Tom es weiß.", "Herr"),
        ("I'm not sure Tom will come.", "Ich weiß nicht, ob Tom kommt.", "Herr"),
        ("Thank you, Tom.", "Danke, Tom.", "Herr"),
        ("She and Tom came.", "Sie und Tom kamen.", None),
        ("I know it’s Tom.", "Ich weiß, es ist Tom.", "Herr"),
        ("He took it from me, not Tom.", "Er nahm es von mir, nicht von Tom.", "Herrn"),
    ],
)
def test_herr_has_an_ending_but_in_the_nominative(source, target, title):
    for languages, pair in ((("en", "de"), (source, target)), (("de", "en"), (target, source))):
        found = set()
        for seed in range(100):
            new = dict(zip(languages, made(languages).change(pair, NAMES, random.Random(seed))))
            assert ("Mr." in new["en"]) == ("Herr" in new["de"])
            found |= {*re.findall(r"\bHerrn?\b", new["de"])}
        assert found == ({title} if title else set())


def test_herrn_follows_prepositions():
    seen = set()
    for seed in range(100):
        source, target = made().change(("I was with Tom.", "Ich war mit Tom."), NAMES, random.Random(seed))
        title = source.removeprefix("I was with ").rsplit(" ", 1)[0]
        assert target.startswith(f"Ich war mit {'Herrn' if title == 'Mr.' else TITLES[title]} ")
        seen.add(title)
    assert seen == {*TITLES}


def test_titles_that_are_there_stay():
    for seed in range(50):
        source, target = made().change(("I see Mr. Tom.", "Ich sehe Herrn Tom."), NAMES, random.Random(seed))
        name = re.fullmatch(r"I see Mr\. (.+)\.", source)[1]
        assert target == f"Ich sehe Herrn {name}." and name != "Tom"


def test_french():
    """Sources have short titles, too."""
    seen = {"fr": set(), "en": set()}
    english = {"M.": "Mr.", "Monsieur": "Mr.", "Mlle": "Miss", "Mademoiselle": "Miss", "Dr": "Dr."}
    english |= {"Mme": "(Mrs|Ms).", "Madame": "(Mrs|Ms).", "Professeur": "Professor"}
    for seed, source in itertools.product(range(100), seen):
        pair = {"fr": "Je vois Tom.", "en": "I see Tom."}
        target = "en" if source == "fr" else "fr"
        texts = made((source, target)).change((pair[source], pair[target]), NAMES, random.Random(seed))
        french, other = texts if source == "fr" else texts[::-1]
        title = re.fullmatch(rf"Je vois ({'|'.join(english)}) (.+)\.", french)
        assert re.fullmatch(rf"I see {english[title[1]]} {re.escape(title[2])}\.", other)
        seen[source].add(title[1])
    assert seen["fr"] == {*english} and seen["en"] == {"Monsieur", "Madame", "Mademoiselle", "Dr", "Professeur"}


def test_pairs_without_the_name_on_both_sides_stay():
    for pair in [
        ("Tom's dog.", "Toms Hund."),
        ("Tom and Tom.", "Tom und Tom."),
        ("Tommy!", "Tommy!"),
        ("Bob.", "Bob."),
    ]:
        assert made().change(pair, NAMES, random.Random(1)) == pair
