"""Each operation of augmentation changes pairs as it says, in the share of pairs that is asked for, and repeatably."""

import itertools
import random
from collections import Counter

import numpy as np
import pytest
from augmented_pairs import NAMES, NOUNS, PAIRS, VERBS, augmented, changed

from zoo.config import TrainingConfig
from zoo.corpora.augmentation import AugmentedPairs
from zoo.corpora.batching import BatchStream
from zoo.corpora.sampled_corpus import SampledCorpus
from zoo.text.placeholders import placeholder
from zoo.text.tokenizer_training import train_tokenizer
from zoo.training_config import AugmentConfig


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


@pytest.mark.parametrize(
    "name", ["upper", "title", "lower", "unmarked", "typos", "joined", "copies", "names", "numbers"]
)
def test_shares(name):
    share = 0.3
    count = sum(old != new for old, new in changed(**{name: share}))
    assert abs(count - share * len(PAIRS)) < 5 * (len(PAIRS) * share * (1 - share)) ** 0.5


def test_nothing_changes_at_zero():
    assert [*augmented().epoch(0)] == PAIRS


SHARES = dict(upper=0.1, lower=0.1, typos=0.3, joined=0.3, copies=0.3, names=0.3, numbers=0.3, substitutable=0.2)


def test_pairs_depend_on_seed_epoch_and_position_only():
    first, second = augmented(**SHARES), augmented(**SHARES)
    later, once = [*second.epoch(3)], [*first.epoch(0)]
    assert once == [*second.epoch(0)] and later == [*first.epoch(3)]
    assert once != later != [*augmented(seed=2, **SHARES).epoch(3)]


def test_a_pair_depends_on_those_of_its_thousand_only():
    longer = "A much longer sentence than the others.", "Ein viel längerer Satz als andere."
    others = PAIRS[:991] + [longer] * 9 + PAIRS[1000:]
    first, second = ([*augmented(pairs=pairs, typos=0.9).epoch(0)] for pairs in (PAIRS, others))
    assert first[1000:] == second[1000:]


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
