"""Byte pairs in a graph equal those in Python, also in a SavedModel."""

import functools
import random

import byte_pair_folder as folder
import pytest
import tensorflow as tf

from zoo.text.byte_pair_tokenizer import BytePairTokenizer

vocabularies = pytest.importorskip(
    "zoo.tf.vocabularies", reason="tensorflow-text is not installed", exc_type=ImportError
)

VOCABULARY = folder.make_vocabulary(last=[folder.END])
ORDERS = {"ordered": folder.MERGES, "any order": folder.MERGES[::-1]}


@functools.cache
def tokenizers(order="ordered", prefix_space=False):
    special = {"end": VOCABULARY[folder.END]}
    python, _ = BytePairTokenizer.from_vocabulary(VOCABULARY, ORDERS[order], special, prefix_space)
    from zoo.tf.vocabularies import graph_tokenizer

    return python, graph_tokenizer(python)


@pytest.mark.parametrize(("order", "prefix_space"), [("ordered", False), ("any order", False), ("ordered", True)])
def test_ids_equal_those_of_python(order, prefix_space):
    python, graph = tokenizers(order, prefix_space)
    assert python.ordered == (order == "ordered")
    encode = tf.function(graph.encode, input_signature=[tf.TensorSpec([None], tf.string)])
    for texts in (folder.TEXTS, ["a" * 50 + "s" * 3, " see" * 9], ["", ""], []):
        found = encode(tf.constant(texts, tf.string))
        assert found.dtype == tf.int32 and found.to_list() == python.encode(texts)


def test_texts_equal_those_of_python():
    """Also of bytes that are not UTF-8."""
    python, graph = tokenizers()
    ids = [[random.Random(i).randrange(python.vocabulary_size) for _ in range(1 + i % 9)] for i in range(300)]
    decode = tf.function(graph.decode)
    assert [text.decode() for text in decode(tf.ragged.constant(ids, dtype=tf.int32)).numpy()] == python.decode(ids)
    padded = tf.ragged.constant(python.encode(folder.TEXTS), dtype=tf.int32).to_tensor()
    assert [text.decode() for text in decode(padded).numpy()] == folder.TEXTS
    assert "\ufffd" in "".join(python.decode(ids))


def test_kinds_of_all_characters_equal_those_of_python():
    """A word of three characters tells the kind of the second."""
    python, graph = tokenizers()
    characters = [chr(code) for code in range(1, 0x110000, 101) if not 0xD800 <= code < 0xE000]
    texts = [f"a{x} {x}1{x}'s{x} !{x}" for x in characters]
    assert tf.function(graph.encode)(tf.constant(texts)).to_list() == python.encode(texts)
    from zoo.text.byte_pairs import split_words
    from zoo.tf.byte_pair_tokenizer import word_begins

    codes = tf.strings.unicode_decode(texts, "UTF-8")
    begins = codes.with_flat_values(word_begins(codes)).to_list()
    for text, row in zip(texts, begins, strict=True):
        places = [i for i, begin in enumerate(row) if begin]
        assert [text[i:j] for i, j in zip(places, [*places[1:], len(text)])] == split_words(text)
