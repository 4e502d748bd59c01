"""Tests of bracket scores against manual counts, and against evalb."""

import pathlib

import pytest

pytest.importorskip("nltk", reason="nltk is not installed")
from nltk.tree import Tree

from zoo.parsing.metrics import label_table, parsing_scores

FIXTURES = pathlib.Path(__file__).parents[2] / "fixtures"

GOLD = Tree.fromstring("(TOP (S (NP (PRP We)) (VP (VBD ran) (PRT (RP up))) (. .)))")


def values(*arguments, **options):
    return {score.metric: score.value for score in parsing_scores(*arguments, **options)}


def test_identical_tree_scores_100():
    assert set(values([GOLD], [GOLD]).values()) == {100}


def test_scores_equal_manual_counts():
    """Gold S(0,3) NP(0,1) VP(1,3) ADVP(2,3); the full stop does not count, PRT equals ADVP."""
    found = Tree.fromstring("(TOP (S (NP (PRP We)) (VP (VBD ran)) (ADVP (RB up)) (NP (. .))))")
    scores = values([GOLD], [found])
    assert scores["recall"] == 75 and scores["precision"] == 75 and scores["exact match"] == 0
    assert scores["tag accuracy"] == pytest.approx(200 / 3)
    scores = values([GOLD], [found], outermost=False)
    assert scores["recall"] == pytest.approx(200 / 3)
    assert label_table([GOLD], [found]) == [("ADVP", 1, 1, 1), ("NP", 1, 1, 1), ("S", 1, 1, 1), ("VP", 1, 1, 0)]


def test_repeated_brackets_are_counted():
    double = Tree.fromstring("(TOP (NP (NP (NN a) (NN b))))")
    single = Tree.fromstring("(TOP (NP (NN a) (NN b)))")
    scores = values([double], [single])
    assert scores["recall"] == 50 and scores["precision"] == 100


def test_intervals():
    found = Tree.fromstring("(TOP (NP (PRP We) (VBD ran) (RP up) (. .)))")
    scores = parsing_scores([GOLD] * 20, [GOLD] * 10 + [found] * 10, resamples=100)
    assert scores[0].interval > 1 and "bs:100" in scores[0].signature


@pytest.mark.parametrize(
    ("gold", "found", "message"),
    [
        ([], [], "0 gold trees"),
        ([GOLD], [], "1 gold trees and 0 predicted"),
        ([GOLD], [Tree.fromstring("(TOP (NN a))")], "Tree 1 has other words"),
        ([GOLD], [GOLD[0]], "Tree 1, predicted, has the root S, not TOP"),
    ],
)
def test_incomparable_trees_raise(gold, found, message):
    with pytest.raises(ValueError, match=message):
        parsing_scores(gold, found)


def test_scores_equal_evalb():
    """On 500 random trees and their damaged copies, with what evalb printed; see tests/evalb_reference.py."""
    *lines, summary = (FIXTURES / "evalb.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    gold, found = ([Tree.fromstring(row[side]) for row in rows] for side in (0, 1))
    assert len(rows) == 500 and len({row[2] for row in rows}) > 30, "there must be all kinds of errors"
    for row, *pair in zip(rows, gold, found):
        own = values([pair[0]], [pair[1]])
        assert [f"{own[name]:.2f}" for name in ("recall", "precision", "tag accuracy")] == row[2:], row
    own = values(gold, found)
    names = "recall", "precision", "bracket F1", "exact match", "tag accuracy"
    assert [f"{own[name]:.2f}" for name in names] == summary.split("\t")
