"""Tests that a constrained search finds the best allowed sequence, with the model's probabilities."""

import itertools

import numpy as np
import pytest
from keras import ops
from search_reference import (
    END,
    MAX_LENGTH,
    SPECIAL,
    START,
    WORDS,
    V,
    code,
    log_softmax,
    penalty,
    random_tables,
    table_state,
    table_step,
)

from keras_transformer.decoding import beam_search, constrained, greedy_search, sample

BATCH = 3


def no_word_twice(token_ids, state, index):
    """Allows each word once, and the end after two words."""
    taken = ops.logical_or(state["taken"], ops.equal(ops.arange(V), token_ids[:, None]))
    early = ops.logical_and(ops.equal(ops.arange(V), END), index < 2)
    return ops.logical_not(ops.logical_or(taken, early)), {"taken": taken}


def taken(rows):
    return {"taken": ops.zeros((rows, V), "bool")}


def best_allowed(tables, alpha):
    """Finds the best allowed sequence by enumeration."""
    best = -np.inf, None
    for count in range(2, MAX_LENGTH):
        for words in itertools.permutations(WORDS, count):
            tokens, total = (*words, END), 0.0
            for i, token in enumerate(tokens):
                total += log_softmax(tables[i, code((*words[:i],))])[token]
            best = max(best, (total / penalty(len(tokens), alpha), tokens))
    return best


@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_best_of_all_allowed_sequences(alpha):
    tables, beams = random_tables(BATCH, seed=3), 100
    step, state = constrained(table_step(tables, beams), table_state(BATCH, beams), no_word_twice, taken(BATCH * beams))
    limits = np.full(BATCH, MAX_LENGTH, "int32")
    found = beam_search(
        step, state, beam_size=beams, max_lengths=limits, max_length=MAX_LENGTH, length_penalty=alpha, **SPECIAL
    )
    for i in range(BATCH):
        score, tokens = best_allowed(tables[i], alpha)
        assert ops.convert_to_numpy(found.ids)[i, 0, : len(tokens)].tolist() == [*tokens]
        assert float(found.scores[i, 0]) == pytest.approx(score, abs=1e-4)


@pytest.mark.parametrize("search", [greedy_search, sample])
def test_other_searches(search):
    tables = random_tables(BATCH, seed=4)
    step, state = constrained(table_step(tables, 1), table_state(BATCH, 1), no_word_twice, taken(BATCH))
    options = {"seed": 1} if search is sample else {}
    limits = np.full(BATCH, MAX_LENGTH, "int32")
    found = search(step, state, max_lengths=limits, max_length=MAX_LENGTH, **SPECIAL, **options)
    for ids in ops.convert_to_numpy(found.ids)[:, 0].tolist():
        words = ids[: ids.index(END)]
        assert len(words) >= 2 and len({*words}) == len(words) and START not in words
