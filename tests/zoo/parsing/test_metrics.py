"""Tests of bracket scores against manual counts and, where it is installed, against evalb."""

import os
import pathlib
import random
import re
import subprocess

import pytest

pytest.importorskip("nltk", reason="nltk is not installed")
from nltk.tree import Tree

from zoo.parsing.metrics import label_table, parsing_scores
from zoo.parsing.trees import read_brackets, to_brackets, to_spans, to_tree

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


def damaged(tree, rng):
    """Returns the tree with random changes of labels, constituents and tags."""
    words, tags, labels = to_spans(tree)
    kept = {span: rng.choice(["NP", "ADVP PRT", label, label, label]) for span, label in labels.items()}
    kept = {span: label for span, label in kept.items() if rng.random() > 0.15}
    for _ in range(4):
        first, last = sorted(rng.sample(range(len(words) + 1), 2))
        if not any(a < first < b < last or first < a < last < b for a, b in kept):
            kept[first, last] = rng.choice(["PRT", "NP", "PP X"])
    punctuation = {",", ":", "``", "''", "."}
    tags = [tag if tag in punctuation or rng.random() > 0.1 else "NN" for tag in tags]
    return to_tree(words, tags, kept)


@pytest.mark.skipif("EVALB" not in os.environ, reason="EVALB is not set to evalb's program, COLLINS.prm beside it")
def test_scores_equal_evalb(tmp_path):
    """Compares 500 trees of GENIA's dev set with randomly changed ones."""
    corpus = pathlib.Path(os.environ["KERAS_TRANSFORMER_DATA"]) / "parsing/genia/dev.trees"
    gold = [tree for _, tree in read_brackets(corpus.read_text("utf-8").splitlines()) if len(tree.leaves()) < 100][:500]
    rng = random.Random(1)
    found = [damaged(tree, rng) for tree in gold]
    for name, trees in (("gold", gold), ("found", found)):
        (tmp_path / name).write_text("".join(to_brackets(tree) + "\n" for tree in trees), "utf-8")
    program = pathlib.Path(os.environ["EVALB"])
    command = [program, "-p", program.with_name("COLLINS.prm"), tmp_path / "gold", tmp_path / "found"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [line.split() for line in lines if re.match(r" *\d+ +\d+ +0 ", line)]
    assert len(rows) == len(gold) == 500
    for row, *pair in zip(rows, gold, found):
        own = [f"{values([pair[0]], [pair[1]])[name]:.2f}" for name in ("recall", "precision", "tag accuracy")]
        assert own == [row[3], row[4], row[-1]]
    summary = dict(re.findall(r"(.*?) *= *([\d.]+)", "\n".join(lines[: lines.index("-- len<=40 --")])))
    own = values(gold, found)
    for name, theirs in (("bracket F1", "FMeasure"), ("recall", "Recall"), ("precision", "Precision")):
        assert f"{own[name]:.2f}" == summary[f"Bracketing {theirs}"]
    assert f"{own['exact match']:.2f}" == summary["Complete match"]
    assert f"{own['tag accuracy']:.2f}" == summary["Tagging accuracy"]
