"""Trees: read in any layout, cleaned, written, taken apart into spans and put together again."""

import pytest

pytest.importorskip("nltk", reason="nltk is not installed")
from hypothesis import given
from hypothesis import strategies as st
from nltk.tree import Tree
from nltk.tree.prettyprinter import TreePrettyPrinter
from random_trees import trees

from zoo.parsing.trees import MAX_DEPTH, clean_tree, escape_brackets, read_brackets, to_brackets, to_spans, to_tree


def deep(storeys):
    """A tree as high as can be walked by recursion, by default."""
    return f"(TOP {'(X ' * (storeys - 2)}(NN a){')' * (storeys - 2)})"


def read(text):
    return [tree for _, tree in read_brackets(text.splitlines())]


@given(trees)
def test_spans_are_the_tree(tree):
    assert to_tree(*to_spans(tree)) == tree


@given(st.lists(trees, max_size=3))
def test_brackets_are_the_tree(found):
    assert read("\n".join(map(to_brackets, found))) == found
    assert read("\n\n".join(tree.pformat(margin=20) for tree in found)) == found


def test_trees_as_high_as_may_be_are_walked():
    (tree,) = read(deep(MAX_DEPTH))
    assert tree.height() == MAX_DEPTH + 1  # NLTK counts the word.
    assert to_tree(*to_spans(clean_tree(tree))) == tree and to_brackets(tree) == deep(MAX_DEPTH)
    assert tree.pformat() and TreePrettyPrinter(tree).text()


def test_trees_that_a_model_makes_are_no_higher():
    """A sentence of a thousand words, where each but the last begins a constituent of two that goes to the end."""
    words, labels = [f"w{i}" for i in range(1000)], {(i, 1000): "A B" for i in range(999)}
    tree = to_tree(words, ["X"] * 1000, labels)
    assert tree.leaves() == words and tree.height() == MAX_DEPTH + 1
    assert read(to_brackets(tree)) == [tree]


@given(trees)
def test_nltk_reads_what_is_written(tree):
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


def test_lines_are_numbered():
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
        ("(TOP (NP the (NN dog)))", "a word that has no tag for itself: 'the'"),
        ("(TOP (NN a b))", "a word that has no tag for itself: 'a'"),
        ("\n" + "(X " * 201 + "a" + ")" * 201, "line 2, has more than 200 constituents inside one another"),
    ],
)
def test_what_is_no_tree_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        read(text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], {}), "0 words and 0 tags"),
        ((["a"], [], {}), "1 words and 0 tags"),
        ((["a", "b", "c"], ["X"] * 3, {(0, 2): "A", (1, 3): "B"}), r"must not cross. Received: \(1, 3\)"),
        ((["a"], ["X"], {(1, 2): "A"}), r"within the words. Received: \(1, 2\) of 1 words"),
    ],
)
def test_what_makes_no_tree_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        to_tree(*arguments)
