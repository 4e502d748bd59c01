"""Ids of the characters of words, in Python and in a graph, and the layer that encodes them."""

import keras
import numpy as np
import pytest

from zoo.config import NUM_CHARACTERS
from zoo.corpora.word_rows import encode_windows, window_characters
from zoo.models.character_encoder import CharacterEncoder
from zoo.text.word_characters import BEGIN, END, LONGEST, WIDTH, word_characters
from zoo.text.word_pieces import WordPieceTokenizer

WORDS = ["a", "", "naïve", "x" * LONGEST, "abcdefghi" + "-" * 5 + "rstuvwxyz", "中国🙂", "a b", "Ж"]


def written(row):
    """Decodes the ids of a word whose characters have distinct ids."""
    return "".join("<" if i == BEGIN else ">" if i == END else chr(i - END - 1) for i in row if i)


def test_words_are_spelled():
    rows = word_characters(WORDS)
    assert rows.shape == (len(WORDS), WIDTH) and rows.dtype == "int32" and rows.max() < NUM_CHARACTERS
    assert written(rows[2]) == "<naïve>" and written(rows[1]) == "<>"
    assert written(rows[3]) == f"<{WORDS[3]}>" and written(rows[4]) == "<abcdefghirstuvwxyz>"


def test_the_graph_gives_the_same_characters():
    tf = pytest.importorskip("tensorflow")
    pytest.importorskip("tensorflow_text", reason="tensorflow-text is not installed")
    from zoo.tf.predictor_service import word_characters as in_graph

    np.testing.assert_array_equal(tf.function(in_graph)(tf.constant(WORDS)), word_characters(WORDS))
    assert in_graph(tf.zeros([0], tf.string)).shape == (0, WIDTH)


def test_each_token_has_the_characters_of_its_word():
    """Tests words of several tokens, sentences of several windows, and an empty sentence."""
    tokenizer = WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b"])
    sentences = [["abb", "a", "abb", "ab"], [], ["zz"]]
    tokens, places, owners = encode_windows(sentences, tokenizer, 6)
    found = window_characters(tokens, places, sentences)
    assert owners == [0, 0, 0, 2] and found.offsets.tolist() == tokens.offsets.tolist()
    expected = [["", *["abb"] * 3, "a", ""], ["", *["abb"] * 3, ""], ["", "ab", "ab", ""], ["", "zz", ""]]
    assert [written(row).strip("<>") for row in found.ids] == [word for row in expected for word in row]


def test_the_layer_computes_its_equation():
    layer = CharacterEncoder(6, 4)
    ids = np.stack([word_characters(WORDS[:4]), word_characters(WORDS[4:])])
    assert not np.any(keras.ops.convert_to_numpy(layer(ids))), "it begins with nothing"
    rng = np.random.default_rng(1)
    for variable in layer.trainable_variables:
        variable.assign(rng.normal(size=variable.shape))
    table, kernel, bias, projection = (keras.ops.convert_to_numpy(v) for v in layer.trainable_variables)
    x = np.pad(table[ids], ((0, 0), (0, 0), (2, 2), (0, 0)))
    windows_of = np.stack([x[:, :, i : i + WIDTH] for i in range(5)], axis=-2)
    peaks = np.maximum(np.einsum("btkwc,wcf->btkf", windows_of, kernel) + bias, 0).max(2)
    np.testing.assert_allclose(keras.ops.convert_to_numpy(layer(ids)), peaks @ projection, rtol=1e-4, atol=1e-4)
