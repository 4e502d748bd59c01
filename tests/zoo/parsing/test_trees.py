"""Tests of trees: reading, cleaning, writing, and conversion to spans and back."""

import pytest

pytest.importorskip("nltk", reason="nltk is not installed")
from hypothesis import given
from hypothesis import strategies as st
from nltk.tree import Tree
from nltk.tree.prettyprinter import TreePrettyPrinter
from random_trees import trees

from zoo.parsing.trees import MAX_DEPTH, clean_tree, escape_brackets, read_brackets, to_brackets, to_spans, to_tree


def deep(depth):
    """Returns a tree of some depth, in brackets."""
    return f"(TOP {'(X ' * (depth - 2)}(NN a){')' * (depth - 2)})"


def read(text):
    return [tree for _, tree in read_brackets(text.splitlines())]


@given(trees)
def test_spans_round_trip(tree):
    assert to_tree(*to_spans(tree)) == tree


@given(st.lists(trees, max_size=3))
def test_brackets_round_trip(found):
    assert read("\n".join(map(to_brackets, found))) == found
    assert read("\n\n".join(tree.pformat(margin=20) for tree in found)) == found


def test_trees_of_maximum_depth():
    (tree,) = read(deep(MAX_DEPTH))
    assert tree.height() == MAX_DEPTH + 1  # NLTK counts the word.
    assert to_tree(*to_spans(clean_tree(tree))) == tree and to_brackets(tree) == deep(MAX_DEPTH)
    assert tree.pformat() and TreePrettyPrinter(tree).text()


def test_to_tree_limits_depth():
    """Each of a thousand words but the last starts a constituent that extends to the end."""
    words, labels = [f"w{i}" for i in range(1000)], {(i, 1000): "A B" for i in range(999)}
    tree = to_tree(words, ["X"] * 1000, labels)
    assert tree.leaves() == words and tree.height() == MAX_DEPTH + 1
    assert read(to_brackets(tree)) == [tree]


@given(trees)
def test_nltk_reads_brackets(tree):
    assert Tree.fromstring(to_brackets(tree)) == tree


def test_spans():
    tree = Tree.fromstring("(TOP (S (NP (PRP We)) (VP (VBD ran) (ADVP (RB fast)))) (. .))")
    spans = to_spans(tree)
    assert spans.words == ("We", "ran", "fast", ".") and spans.tags == ("PRP", "VBD", "RB", ".")
    assert spans.labels == {(0, 3): "S", (0, 1): "NP", (1, 3): "VP", (2, 3): "ADVP"}
    assert to_spans(Tree.fromstring("(TOP (S (VP (VB Go))))")).labels == {(0, 1): "S VP"}


def test_cleaning():
    text = """( (S (NP-SBJ-1 (-NONE- *PRO*) (NNP Ann))
      (VP=2 (VBD saw) (NP (-NONE- *T*-1)) (PRN (-LRB- -LRB-) (NP|x (NN b))))))"""
    (tree,) = read(text)
    assert to_brackets(clean_tree(tree)) == "(TOP (S (NP (NNP Ann)) (VP (VBD saw) (PRN (-LRB- -LRB-) (NP (NN b))))))"
    assert clean_tree(Tree.fromstring("(S (NP (-NONE- *)))")) is None
    assert to_brackets(clean_tree(Tree.fromstring("(NN dog)"))) == "(TOP (NN dog))"
    assert to_brackets(clean_tree(Tree.fromstring("(S1 (NN dog))"))) == "(TOP (NN dog))"
    assert to_brackets(clean_tree(Tree.fromstring("(X (NN dog))"))) == "(TOP (X (NN dog)))"


def test_brackets_in_words_are_escaped():
    assert escape_brackets("a(b)") == "a-LRB-b-RRB-"
    assert to_brackets(Tree("TOP", [Tree("-LRB-", ["("])])) == "(TOP (-LRB- -LRB-))"


def test_line_numbers_of_trees():
    text = "\n(TOP (NN a))\n\n(TOP\n  (NN b)\n)(TOP (NN c))\n"
    assert [number for number, _ in read_brackets(text.splitlines())] == [2, 4, 6]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(TOP (NN a)))", "line 1, has a closing bracket too many"),
        ("(TOP (NN a))\nword", "line 2, has 'word' outside of all brackets"),
        ("\n(TOP (NN a)\n", "line 2, has a bracket that never closes"),
        ("(TOP\n(NP))", r"line 2, has an empty constituent, \(NP\)"),
        ("()", r"an empty constituent, \(\)"),
        ("(TOP (NP the (NN dog)))", "a word without a tag: 'the'"),
        ("(TOP (NN a b))", "a word without a tag: 'a'"),
        ("\n" + "(X " * 201 + "a" + ")" * 201, "line 2, has more than 200 nested constituents"),
    ],
)
def test_invalid_brackets_raise(text, message):
    with pytest.raises(ValueError, match=message):
        read(text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], {}), "0 words and 0 tags"),
        ((["a"], [], {}), "1 words and 0 tags"),
        ((["a", "b", "c"], ["X"] * 3, {(0, 2): "A", (1, 3): "B"}), r"not cross. Received: \(1, 3\)"),
        ((["a"], ["X"], {(1, 2): "A"}), r"within 1 words. Received: \(1, 2\)"),
    ],
)
def test_invalid_spans_raise(arguments, message):
    with pytest.raises(ValueError, match=message):
        to_tree(*arguments)
