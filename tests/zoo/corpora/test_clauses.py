"""Tests of clauses: two sentences become one, with the same conjunction on both sides."""

import random

from zoo.corpora.clauses import Clauses

CORPUS = [
    ("We see that the dog sleeps. I know it.", "Wir sehen, dass der Hund schläft. Dann weiß ich es."),
    ("Then we sleep. The dog, too.", "Dann schlafen wir. Der Hund auch."),
    ("Tom and I sleep, then.", "Tom und ich schlafen dann. Ich auch."),
]
BETWEEN = {", and ": ", und ", ", but ": ", aber ", "; ": "; ", ", because ": ", denn ", ", or ": ", oder "}


def join(first, second, seed):
    return Clauses.of(("en", "de"), CORPUS).join(first, second, random.Random(seed))


def test_both_sides_have_the_same_conjunction_and_small_letters_as_inside_of_a_sentence():
    seen = set()
    for seed in range(60):
        source, target = join(CORPUS[1], ("I see it.", "Ich sehe es."), seed)
        between = source.removeprefix("Then we sleep. The dog, too").removesuffix("I see it.")
        assert target == f"Dann schlafen wir. Der Hund auch{BETWEEN[between]}ich sehe es."
        seen.add(between)
    assert seen == {*BETWEEN}


def test_names_and_german_nouns_keep_their_capitals():
    source, target = join(("We sleep.", "Wir schlafen."), ("The dog sleeps.", "Hund und Tom schlafen."), 1)
    assert source.endswith(" the dog sleeps.") and target.endswith(" Hund und Tom schlafen.")
    assert join(("We sleep.", "Wir schlafen."), ("Tom sleeps.", "Tom schläft."), 1)[0].endswith(" Tom sleeps.")


def test_other_marks_end_the_first_sentence():
    for first in [("Really?", "Wirklich?"), ("Yes...", "Ja..."), ("Yes", "Ja."), ("Yes!", "Ja.")]:
        assert join(first, ("I see it.", "Ich sehe es."), 1) == (f"{first[0]} I see it.", f"{first[1]} Ich sehe es.")
