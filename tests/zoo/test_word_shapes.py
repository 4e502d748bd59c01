"""Shapes of words, in Python and in a graph."""

import pytest

from zoo import word_shapes as shapes

WORDS = {
    shapes.NO_CAPITAL: ["dog", "-", "3", "o'clock", "\u4e2d", "\u00df", "\u01c5", "\u200b", "a\nb"],
    shapes.INITIAL_CAPITAL: ["Dog", "I", "\u00c9mile", "(Dog)", "3D", "D-day", "\u0416"],
    shapes.ALL_CAPITALS: ["NASA", "AB-1", "U.S.", "\u00c4\u00d6"],
    shapes.OTHER_CAPITALS: ["iPhone", "McDonald", "aB", "PhD", "\u4e2dA b"],
}


@pytest.mark.parametrize(("shape", "words"), WORDS.items())
def test_shapes(shape, words):
    assert [shapes.word_shape(word) for word in words] == [shape] * len(words)


def test_shapes_in_a_graph():
    pytest.importorskip("tensorflow_text", reason="tensorflow-text is not installed")
    import tensorflow as tf

    from zoo.tf.predictor_service import word_shapes

    words = [word for group in WORDS.values() for word in group]
    found = tf.function(word_shapes)(tf.constant(words)).numpy().tolist()
    assert found == [shapes.word_shape(word) for word in words]


def test_all_tokens_of_a_word_have_its_shape():
    found = shapes.token_shapes(8, [1, 2, 5], ["te", "Lo", "NASA"])
    assert found == [0, shapes.NO_CAPITAL, *[shapes.INITIAL_CAPITAL] * 3, *[shapes.ALL_CAPITALS] * 2, 0]
