"""Tests the choice among the hypotheses of a search: those first that keep digits and unknown characters."""

import copy
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from keras_transformer.decoding import Hypotheses, beam_search
from zoo.text.tokenizer_training import SMALLEST_VOCABULARY, train_tokenizer
from zoo.translation import searches
from zoo.translation.search_options import search_options
from zoo.translation.searches import most_kept

KINDS = np.array([0, 0, 0, 0, 1, 2, 2, 3, 0, 0], "int32")  # Pieces 5 and 6 are of one kind, such as "1" and "▁1".
ids = st.lists(st.integers(4, 9), max_size=6)


def padded(rows, width=8):
    return np.array([[*row, *[0] * (width - len(row))] for row in rows], "int32")


def kinds_of(row):
    return Counter(int(KINDS[i]) for i in row if KINDS[i])


@settings(deadline=None)
@given(source=ids, rows=st.lists(ids, min_size=4, max_size=4), empty=st.integers(0, 3), num_return=st.integers(1, 4))
def test_fewest_lost_tokens_come_first(source, rows, empty, num_return):
    """Against sorting in Python, which is stable; empty slots, always the last of a search, stay the last."""
    lengths = [len(row) + 1 for row in rows[: 4 - empty]] + [0] * empty
    rows = [row if length else [] for row, length in zip(rows, lengths)]
    scores = np.array([[-1.0, -2.0, -3.0, -4.0]], "float32")
    found = Hypotheses(padded(rows)[None], scores, scores / 2, np.array([lengths], "int32"))
    lost = [sum((kinds_of(source) - kinds_of(row)).values()) if length else 99 for row, length in zip(rows, lengths)]
    order = sorted(range(4), key=lost.__getitem__)[:num_return]
    chosen = most_kept(Hypotheses(*map(ops.convert_to_tensor, found)), padded([source]), KINDS, num_return)
    for given_values, values in zip(found, chosen):
        np.testing.assert_array_equal(ops.convert_to_numpy(values), given_values[:, order])


def test_texts_with_nothing_to_keep_need_their_best_hypothesis_only(trained, corpus, monkeypatch):
    """The search stops sooner for them, and translates all texts as it does when it finds the whole beam for each."""
    translator, needed = copy.copy(trained.translator), []
    translator.placeholders, translator._compiled, translator.jit_compile = True, {}, False
    plain = [source for source, _ in corpus.test[:6]]
    texts = [*plain, *(f"{text[:-1]} 27{text[-1]}" for text in plain)]

    def whole_beam(*arguments, num_needed, **options):
        needed.append(num_needed)
        return beam_search(*arguments, **options)

    found = translator.translate(texts)
    monkeypatch.setitem(searches._SEARCHES, "beam", whole_beam)
    translator._compiled = {}
    assert found == translator.translate(texts) and needed
    rows = [translator.tokenizer.encode([text])[0] for text in (plain[0], texts[6])]
    searches.run_search(translator, *translator.search_inputs(rows), **search_options(1, 4, 0.6, 50))
    np.testing.assert_array_equal(ops.convert_to_numpy(needed[-1]), [1, 4])


@pytest.mark.parametrize("split_digits", [False, True])
def test_kinds_of_pieces(split_digits):
    texts = ["in 1984 and 1985", "the 12 of 12", "a bee", "x1 1 9 x9"] * 20
    tokenizer = train_tokenizer(texts, 300, split_digits=split_digits)

    def kinds(text):
        return sorted(kind for kind in tokenizer.kept_kinds[tokenizer.encode([text])[0]] if kind)

    assert kinds("a bee and the") == []
    assert kinds("12") == kinds("the 12") != kinds("85")
    by_text = {}
    for i in range(SMALLEST_VOCABULARY, tokenizer.vocabulary_size):  # Behind the bytes.
        by_text.setdefault(tokenizer.decode([[i]])[0].strip(), set()).add(int(tokenizer.kept_kinds[i]))
    assert all(len(by_text[digit]) == 1 for digit in "19"), "with and without a space"
    assert len(kinds("🙂")) == 4, "the bytes of a character without a piece"
    assert kinds("🙂") != kinds("🙃")
    assert (len(kinds("1984")) == 4) or not split_digits
