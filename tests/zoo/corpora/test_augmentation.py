"""Each operation of augmentation changes pairs as it says, in the share of pairs that is asked for, and repeatably."""

import itertools
import random
from collections import Counter

import numpy as np
import pytest

from zoo.config import TrainingConfig
from zoo.corpora.augmentation import AugmentedPairs
from zoo.corpora.batching import BatchStream
from zoo.corpora.sampled_corpus import SampledCorpus
from zoo.text.placeholders import placeholder
from zoo.text.tokenizer_training import train_tokenizer
from zoo.training_config import AugmentConfig

NOUNS = {"dog": "Hund", "cat": "Katze", "house": "Haus", "tree": "Baum", "road": "Weg", "lake": "See"}
VERBS = {"sees": "sieht", "likes": "mag", "finds": "findet", "paints": "malt"}
NAMES = ["Tom", "Berta", "Kofi", "Ines"]
PAIRS = [
    (f"{name} {v} the {a} and {n} {b}s.", f"{name} {w} den {x} und {n} {y}.")
    for name, (v, w), (a, x), (b, y), n in itertools.product(
        NAMES, VERBS.items(), NOUNS.items(), NOUNS.items(), (3, 41)
    )
]


def augmented(seed=1, pairs=PAIRS, **shares):
    return AugmentedPairs(pairs, AugmentConfig(**shares), seed)


def changed(**shares):
    return [*zip(PAIRS, augmented(**shares).epoch(0), strict=True)]


def test_upper():
    assert all(new == (old[0].upper(), old[1].upper()) for old, new in changed(upper=1.0))


def test_title():
    assert all(new == (old[0].title(), old[1].title()) for old, new in changed(title=1.0))


def test_lower_changes_the_source_only():
    results = changed(lower=1.0)
    assert all(new[1] == old[1] and new[0] in (old[0].lower(), old[0].lower()[:-1]) for old, new in results)
    assert 0.4 < np.mean([new[0].endswith(".") for _, new in results]) < 0.6


def test_unmarked():
    assert all(new == (old[0][:-1], old[1][:-1]) for old, new in changed(unmarked=1.0))


def test_typos_spare_what_is_the_same_on_both_sides():
    for old, new in changed(typos=1.0):
        before, after = old[0].split(), new[0].split()
        wrong = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
        assert new[1] == old[1] and len(wrong) <= 2
        assert not {a for a, _ in wrong} & {*NAMES, "3", "41"}
        for a, b in wrong:
            assert sum((Counter(a) - Counter(b)).values()) <= 1 and abs(len(a) - len(b)) <= 1


def test_quotes():
    pairs = [('I don\'t "know" it.', 'Ich "weiß" es nicht.')] * 200
    found = {*augmented(pairs=pairs, quotes=1.0).epoch(0)}
    assert {target for _, target in found} == {pairs[0][1]}
    assert {c for source, _ in found for c in source} > set("’“”«")
    words = [source.split()[1] for source, _ in augmented(pairs=pairs, quotes=1.0).epoch(0)]
    assert 20 < words.count("dont") < 80, "in a quarter of the pairs, an apostrophe is left out"


def test_joined_pairs_are_pairs_of_the_corpus():
    known = set(PAIRS)
    for old, new in changed(joined=1.0):
        source, target = (side.split(". ") for side in new)
        parts = [(a.rstrip(".") + ".", b.rstrip(".") + ".") for a, b in zip(source, target, strict=True)]
        assert parts[0] == old and len(parts) in (2, 3) and known.issuperset(parts)


def test_copies_are_inserted_at_corresponding_places():
    linked = {**{a: b for a, b in NOUNS.items()}, **{f"{a}s": b for a, b in NOUNS.items()}, **VERBS}
    inside = 0
    for old, new in changed(copies=1.0):
        words = [side.rstrip(".").split() for side in old]
        places = [insertions(side, text) for side, text in zip(old, new)]
        assert [text for _, text in places[0]] == [text for _, text in places[1]] != []
        for before, after in zip(old, new):
            rest = iter(after.split())
            assert all(word in rest for word in before.split()), "the words of the text are in their order, unchanged"
        for (p, _), (q, _) in zip(*places):
            before, after = words[0][:p], words[0][p:]
            assert {linked[w] for w in before if w in linked} <= {*words[1][:q]}
            assert {linked[w] for w in after if w in linked} <= {*words[1][q:]}
            inside += 0 < p < len(words[0])
    assert inside > len(PAIRS) / 2


def test_copies_do_not_divide_words_from_their_marks():
    nouns = itertools.product(NOUNS.items(), repeat=2)
    pairs = [(f"{a} , {b}", f"{x}, {y}") for (a, x), (b, y) in nouns] * 5
    for old, new in zip(pairs, augmented(pairs=pairs, copies=1.0).epoch(0)):
        for before, after in zip(old, new):
            rest = iter(after.split())
            assert all(word in rest for word in before.split())


def insertions(old, new):
    """Returns the inserted texts, with the numbers of old words before them."""
    found, words, rest = [], old.split(), new
    for number, word in enumerate(words):
        before, _, rest = f" {rest}".partition(f" {word}")
        if before.strip():
            found.append((number, before.strip()))
        rest = rest.lstrip(" ")
    return [*found, *([(len(words), rest)] if rest else [])]


def test_names_are_replaced_on_both_sides():
    known = set(NAMES)
    for old, new in changed(names=1.0):
        name = old[0].split()[0]
        others = {text.removesuffix(rest.removeprefix(name)) for text, rest in zip(new, old)}
        assert len(others) == 1 and not others & known and new[0].endswith(old[0].removeprefix(name))


def test_words_that_are_no_names_stay():
    pairs = [("In the arm.", "Im Arm."), ("In Arm we trust in.", "In Arm trauen wir in arm.")] * 20
    assert [*augmented(pairs=pairs, names=1.0).epoch(0)] == pairs


def test_names_with_other_forms_stay():
    """Tom's and Toms are no names of their own, and a name that a pronoun translates once would be lost."""
    for pair in (("Tom saw Tom.", "Tom sah ihn."), ("Tom sees Tom's dog.", "Tom sieht Toms Hund.")):
        pairs = [pair, ("Tom ran.", "Tom lief.")] * 20
        found = [*augmented(pairs=pairs, names=1.0).epoch(0)]
        assert found[::2] == pairs[::2] and not {*found[1::2]} & {*pairs}


def test_numbers_are_replaced_on_both_sides():
    found = Counter()
    for _, new in changed(numbers=1.0):
        numbers = [[word for word in side.rstrip(".").split() if word[0].isdigit()] for side in new]
        assert numbers[0] == numbers[1] and len(numbers[0]) == 1 and int(numbers[0][0]) >= 2
        found.update(numbers[0])
    assert len(found) > 80, "all of 2 ... 9 and most of 10 ... 99"


@pytest.mark.parametrize(
    "pair",
    [
        ("It costs 3,482.75 and not 2.", "Es kostet 3.482,75 und nicht 2."),
        ("Wake me at seven.", "Weck mich um sieben."),
        ("We have six cars.", "Nous avons six voitures."),
    ],
)
def test_numbers_keep_their_notation(pair):
    new = {*augmented(pairs=[pair] * 50, numbers=1.0).epoch(0)}
    assert len(new) > 5
    for source, target in new:
        digits = [sorted("".join(filter(str.isdigit, word)) for word in side.split()) for side in (source, target)]
        assert list(filter(None, digits[0])) == list(filter(None, digits[1])) != []
        assert "seven" not in source and "six" not in source
    if "," in pair[0]:
        assert all(source.split()[2][1] == "," and target.split()[2][1] == "." for source, target in new)


def test_numbers_that_differ_stay():
    pairs = [("He is 7.", "Er ist 8."), ("two dogs", "drei Hunde"), ("one 1", "eins 1")]
    assert [*augmented(pairs=pairs, numbers=1.0).epoch(0)] == pairs


@pytest.mark.parametrize(
    "name", ["upper", "title", "lower", "unmarked", "typos", "joined", "copies", "names", "numbers"]
)
def test_shares(name):
    share = 0.3
    count = sum(old != new for old, new in changed(**{name: share}))
    assert abs(count - share * len(PAIRS)) < 5 * (len(PAIRS) * share * (1 - share)) ** 0.5


def test_substitutable_pairs_take_the_place_of_others():
    plain = [
        (f"the {a} sees a {b}", f"der {x} sieht {y}") for (a, x), (b, y) in itertools.permutations(NOUNS.items(), 2)
    ]
    plain, count = plain * 20, 600
    named, numbered = ("Berta sleeps.", "Berta schläft."), ("I have seven.", "Ich habe sieben.")
    pairs = [named, *plain, numbered]
    found = Counter(augmented(pairs=pairs, substitutable=0.5).epoch(1))
    for pair, share in ((named, 1 / 3), (numbered, 1 / 6)):
        assert abs(found[pair] - share * count) < 5 * (count * share) ** 0.5
    found = [pair for pair in augmented(pairs=pairs, substitutable=0.5, names=1, numbers=1).epoch(1)]
    assert named not in found and numbered not in found


def test_months_are_no_names():
    pairs = [("It rains in April.", "Im April regnet es."), ("Tom is here.", "Tom ist da.")] * 20
    found = [*augmented(pairs=pairs, names=1).epoch(0)]
    assert found[::2] == pairs[::2] and all("Tom" not in source for source, _ in found[1::2])


DATED = "I met 2 men on May 3, 1999.", "Ich traf 2 Männer am 3. Mai 1999."


def test_dates_become_dates_whose_numbers_stay():
    pairs = [DATED, ("See you tomorrow.", "Bis morgen."), ("It rains on Monday.", "Am Montag regnet es.")] * 60
    found = [*augmented(pairs=pairs, dates=1, numbers=1).epoch(0)]
    assert found[1::3] == pairs[1::3]  # "until tomorrow" in German.
    for source, target in found[::3]:
        assert "met 2 men" in source and "traf 2 Männer" in target and (source, target) != DATED
    digits = [{*filter(str.isdigit, side)} for pair in found for side in pair]
    assert digits[::2] == digits[1::2]
    assert len({*found[::3], *found[2::3]}) > 80


def test_pairs_with_dates_take_the_place_of_others():
    pairs = [DATED, *[("the dog", "der Hund"), ("the cat", "die Katze")] * 500]
    found = augmented(pairs=pairs, dates=1, substitutable=0.5).epoch(0)
    count = sum("2 men" in source or "numbers" in source for source, _ in found)
    assert abs(count - 500) < 5 * 250**0.5  # The only one with numbers or dates.
    assert len({*found}) > 100


def test_without_names_and_numbers_nothing_takes_the_place():
    pairs = [("the dog", "der Hund"), ("the cat", "die Katze")]
    assert [*augmented(pairs=pairs, substitutable=1).epoch(0)] == pairs


def test_nothing_changes_at_zero():
    assert [*augmented().epoch(0)] == PAIRS


SHARES = dict(upper=0.1, lower=0.1, typos=0.3, joined=0.3, copies=0.3, names=0.3, numbers=0.3, substitutable=0.2)


def test_pairs_depend_on_seed_epoch_and_position_only():
    first, second = augmented(**SHARES), augmented(**SHARES)
    later, once = [*second.epoch(3)], [*first.epoch(0)]
    assert once == [*second.epoch(0)] and later == [*first.epoch(3)]
    assert once != later != [*augmented(seed=2, **SHARES).epoch(3)]


def test_lines_keep_their_numbers():
    class Reader(list):
        def numbered(self):
            return enumerate(self, start=70)

    assert [line for line, _ in augmented(pairs=Reader(PAIRS), **SHARES).epoch(1).numbered()] == [
        *range(70, 70 + len(PAIRS))
    ]


def test_pairs_that_end_after_one_pass():
    with pytest.raises(ValueError, match="iterable once for each epoch"):
        augmented(pairs=iter(PAIRS))


def test_batches_resume_at_any_place():
    tokenizer = train_tokenizer(itertools.chain.from_iterable(PAIRS), 500)

    def stream(start=(0, 0)):
        corpus = SampledCorpus(augmented(**SHARES), tokenizer, dropout=0.1, seed=1, max_tokens=128)
        return BatchStream(corpus, 4000, seed=1, start=start)

    whole = stream()
    batches = [*itertools.islice(whole, 30)]
    for consumed in (1, 10, 29):
        position = whole.position(consumed)
        for expected, found in zip(batches[consumed:], stream(position)):
            assert all(np.array_equal(expected[side], found[side]) for side in ("source", "target"))
    assert whole.position(29)[0] >= 1, "more than one epoch"


def test_options_are_checked():
    with pytest.raises(ValueError, match="`upper`, `title` and `lower` exclude each other"):
        AugmentConfig(upper=0.5, title=0.3, lower=0.3)
    with pytest.raises(ValueError, match="`typos` must lie in"):
        AugmentConfig(typos=1.5)
    assert not AugmentConfig() and AugmentConfig(quotes=0.1) and not TrainingConfig().augment


def test_random_texts_are_single_lines():
    from zoo.corpora.copied_text import random_text

    rng = random.Random(5)
    texts = [random_text(rng) for _ in range(3000)]
    assert all(text == text.strip() and len(text.splitlines()) == 1 for text in texts)
    assert len({*texts}) > 2500


def test_placeholders_replace_addresses_and_codes_of_both_sides():
    pairs = [("Write to a@b.org about AX-4471.", "Schreib a@b.org wegen AX-4471!"), ("Read C3.", "Lies es.")]
    found = [*AugmentedPairs(pairs, AugmentConfig(), 1, placeholders=True).epoch(0)]
    first, second = placeholder(0), placeholder(1)
    assert found == [(f"Write to {first} about {second}.", f"Schreib {first} wegen {second}!"), pairs[1]]


def test_copies_become_placeholders():
    pairs = AugmentedPairs(PAIRS, AugmentConfig(copies=1.0), 1, placeholders=True).epoch(0)
    shares = [placeholder(0) in source and placeholder(0) in target for source, target in pairs]
    assert 0.2 < np.mean(shares) < 0.7
