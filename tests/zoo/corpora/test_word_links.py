"""IBM model 1 against its definition, computed by enumeration; cuts against all places."""

import itertools
import random
from collections import defaultdict

import pytest

from zoo.corpora.word_links import Lexicon, common_cuts

PAIRS = [
    ("the dog", "der Hund"),
    ("the cat", "die Katze"),
    ("a dog sleeps", "ein Hund schläft"),
    ("a cat", "eine Katze"),
]


def expectation_maximization(pairs, iterations):
    """Brown et al. 1993, model 1 without the empty word: p(t | s), from equal probabilities."""
    pairs = [(source.lower().split(), target.lower().split()) for source, target in pairs]
    table = defaultdict(lambda: 1.0)
    for _ in range(iterations):
        counts, totals = defaultdict(float), defaultdict(float)
        for source, target in pairs:
            for t in target:
                norm = sum(table[s, t] for s in source)
                for s in source:
                    counts[s, t] += table[s, t] / norm
                    totals[s] += table[s, t] / norm
        table = defaultdict(float, {(s, t): count / totals[s] for (s, t), count in counts.items()})
    return table


@pytest.mark.parametrize("iterations", [1, 2, 5])
def test_probabilities_are_those_of_the_definition(iterations):
    forward = expectation_maximization(PAIRS, iterations)
    backward = expectation_maximization([pair[::-1] for pair in PAIRS], iterations)
    expected = {(s, t): min(p, backward[t, s]) for (s, t), p in forward.items()}
    expected = {pair: p for pair, p in expected.items() if p >= 0.05}
    learned = Lexicon.learn(PAIRS, iterations).probabilities
    found = {(source, target): p for source, row in learned.items() for target, p in row.items()}
    assert found == pytest.approx(expected)


def test_links():
    lexicon = Lexicon.learn(PAIRS)
    found = lexicon.links("The cat Anna sleeps".split(), "schläft Anna die Katze".split())
    assert found == [(0, 2), (1, 3), (2, 1), (3, 0)]
    unequal = Lexicon({"little": {"small": 0.4}, "small": {"small": 0.3, "tiny": 0.2}, "tiny": {"tiny": 0.2}})
    assert unequal.links(["Small", "little"], ["small"]) == [(1, 0)], "each is the best of the other"
    assert unequal.links(["Small", "tiny"], ["small", "tiny"]) == [(0, 0), (1, 1)]
    assert lexicon.links([], ["x"]) == [] == lexicon.links(["x"], ["y"])
    assert Lexicon.learn([]).probabilities == {}


def test_cuts_are_crossed_by_no_link():
    rng = random.Random(3)
    for _ in range(300):
        sizes = rng.randrange(6), rng.randrange(6)
        cells = [*itertools.product(*map(range, sizes))]
        links = rng.sample(cells, rng.randrange(len(cells) + 1))
        places = itertools.product(*(range(size + 1) for size in sizes))
        free = {(p, q) for p, q in places if all((i < p) == (j < q) for i, j in links)}
        near = {(p, q) for p, q in free if {(p, q), (p - 1, q - 1)} & {*links}} | {(0, 0), sizes}
        assert common_cuts(links, *sizes) == sorted(near)
