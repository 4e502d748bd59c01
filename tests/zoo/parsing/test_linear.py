"""Tests of trees as symbols, and of the search that is constrained to trees."""

import random

import numpy as np
import pytest

pytest.importorskip("nltk", reason="nltk is not installed")
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops
from nltk.tree import Tree
from random_trees import trees

from keras_transformer.decoding import beam_search, constrained, greedy_search
from zoo.config import END_ID, PAD_ID, START_ID
from zoo.parsing.linear import Symbols
from zoo.parsing.trees import MAX_DEPTH, to_brackets

SPECIAL = {"start_id": START_ID, "end_id": END_ID, "pad_id": PAD_ID}
SMALL = Symbols(["NP", "S"], ["NN", "VB"], first=4)


def symbols_of(tree):
    labels = {node.label() for node in tree.subtrees() if isinstance(node[0], Tree)}
    return Symbols(sorted(labels), sorted({tag for _, tag in tree.pos()}), first=10)


@given(trees)
def test_symbols_round_trip(tree):
    symbols = symbols_of(tree)
    numbers = symbols.encode(tree)
    assert symbols.decode(numbers, tree.leaves()) == tree
    assert min(numbers) >= 10 and max(numbers) < symbols.size


@given(st.lists(st.integers(0, SMALL.size)), st.integers(1, 5))
def test_any_symbols_decode_to_tree_over_words(numbers, count):
    words = [str(i) for i in range(count)]
    tree = SMALL.decode(numbers, words)
    assert tree.leaves() == words and all(len(node) for node in tree.subtrees())


def test_repairs():
    close, np_, s, nn, vb = range(4, 9)
    assert to_brackets(SMALL.decode([s, np_, nn, close, vb], ["a", "b"])) == "(TOP (S (NP (NN a)) (VB b)))"
    assert to_brackets(SMALL.decode([close, np_, close, nn, nn], ["a"])) == "(TOP (NN a))"
    assert to_brackets(SMALL.decode([s, nn, close, END_ID], ["a", "b"])) == "(TOP (S (NN a)) (XX b))"


def test_decode_limits_depth():
    """Of 500 opening brackets, the inner ones are left out together with their closing brackets."""
    close, np_, _, nn, vb = range(4, 9)
    tree = SMALL.decode([np_] * 500 + [nn] + [close] * 500 + [vb], ["a", "b"])
    assert tree.height() == MAX_DEPTH + 1 and [len(tree), tree[1]] == [2, Tree("VB", ["b"])]


@settings(deadline=None, max_examples=50)
@given(trees)
def test_constraint_allows_every_tree(tree):
    symbols, numbers = symbols_of(tree), symbols_of(tree).encode(tree)
    constraint, last = symbols.constraint(), START_ID
    state = constraint.begin(np.array([len(tree.leaves())]), np.array([len(numbers) + 1]))
    for index, number in enumerate([*numbers, END_ID]):
        allowed, state = constraint(np.array([last]), state, index)
        assert ops.convert_to_numpy(allowed)[0, number]
        last = number
    assert int(state["room"][0]) == 1, "the end is still to be counted"


def valid(numbers, words, limit):
    """Returns whether numbers, with their end, are a tree over some number of words."""
    if numbers[-1] != END_ID or END_ID in numbers[:-1] or len(numbers) > limit:
        return False
    depth, tags, before = 0, 0, None
    for number in numbers[:-1]:
        if number == SMALL.close:
            depth -= 1
            if before in (5, 6) or depth < 0:
                return False
        elif number in (5, 6):
            depth += 1
        elif number in (7, 8):
            tags += 1
        else:
            return False
        before = number
    return depth == 0 and tags == words


@pytest.mark.parametrize("search", ["greedy", "beam"])
def test_constrained_search_outputs_trees(search):
    """Logits are random, some prefer opening brackets, and limits are as small as possible."""
    rng = np.random.default_rng(1)
    words = np.arange(1, 13)
    limits = words + 1 + rng.integers(0, 12, len(words))
    beams = 1 if search == "greedy" else 3
    table = rng.normal(size=(40, SMALL.size)).astype("float32")
    table[:, 5] += rng.choice([0, 5, -5], 40)
    table[:, END_ID] += 2

    def step(token_ids, state, index):
        return ops.take(table, (token_ids * 7 + state["row"] + index * 3) % 40, axis=0), state

    constraint = SMALL.constraint()
    rows = {"row": np.repeat(np.arange(len(words), dtype="int32"), beams)}
    begin = constraint.begin(np.repeat(words, beams), np.repeat(limits, beams))
    step, state = constrained(step, rows, constraint, begin)
    options = {"max_lengths": limits.astype("int32"), **SPECIAL}
    found = greedy_search(step, state, **options) if beams == 1 else beam_search(step, state, beam_size=3, **options)
    for ids, length, count, limit in zip(found.ids, found.lengths, words, limits):
        numbers = ops.convert_to_numpy(ids)[0, : int(length[0])].tolist()
        assert valid(numbers, count, limit)
        tree = SMALL.decode(numbers, [str(i) for i in range(count)])
        assert SMALL.encode(tree) == numbers[:-1], "nothing is to be repaired"


def test_constraint_allows_trees_only():
    """Tries all sequences of up to six symbols over two words."""
    constraint, limit, allowed_sequences = SMALL.constraint(), 6, set()
    start = constraint.begin(np.array([2]), np.array([limit]))

    def walk(numbers, last, state):
        allowed, after = constraint(np.array([last]), state, len(numbers))
        for number in np.flatnonzero(ops.convert_to_numpy(allowed)[0]).tolist():
            if number == END_ID:
                allowed_sequences.add((*numbers, END_ID))
            else:
                walk((*numbers, number), number, after)

    walk((), START_ID, start)
    rng = random.Random(1)
    everything = {
        tuple(rng.choices(range(4, SMALL.size), k=rng.randint(2, 5))) + (END_ID,) for _ in range(20_000)
    } | allowed_sequences
    assert {numbers for numbers in everything if valid(numbers, 2, limit)} == allowed_sequences
    assert len(allowed_sequences) > 20
