"""Splitting and joining in a graph equals that in Python."""

import functools
import random

import pytest
import tensorflow as tf
from small_vocabulary import TOKENIZER as PYTHON
from small_vocabulary import WORDS

from zoo.translation import segments

pytest.importorskip("tensorflow_text", reason="tensorflow-text is not installed")
from zoo.tf.segments import join_texts, segment_counts, split_texts
from zoo.tf.tokenizers import GraphTokenizer

GRAPH = GraphTokenizer(PYTHON)
JOINTS = [" ", " ", " ", "  ", "\n", "\r\n", "\r", "\n\n", ". ", '." ', "!\u00a0", "?", "… ", "\u2003", "\t", "\x1f"]
JOINTS += [" . ", "! (", ".\u201c „", ". ", ". ", ". "]
NAMES = ["Dr", "J", "3", "e.g", "U.S", "Élan", "über", "\ufdd0", "ſt"]


def random_text(generator):
    parts = []
    for _ in range(generator.randrange(30)):
        word = generator.choice([*WORDS, *NAMES, "🙂", "漢字", "\u200b", "x" * 40, ""])
        parts.append(word + generator.choice(JOINTS))
    return "".join(parts)


TEXTS = [
    "",
    " ",
    "\n",
    " \r\n \n",
    "a",
    "\na\n",
    " a\r\n\r\nb ",
    "漢" * 50,
    "." * 60,
    "a. " * 40,
    "- a\n * b\n12) c. D\n-",
    "-a\n> - b",
    "\tIndented text.  Two spaces. \r\n \t* a\u00a0\n\x0c\n  b!\tC  ",
    "the small dog.  " * 8 + "\t" + "a large  house sees.   and " * 8,
]
TEXTS += [random_text(random.Random(seed)) for seed in range(150)]


@functools.cache
def graph(max_tokens):
    """Returns one graph for all numbers of texts."""
    signature = [tf.TensorSpec([None], tf.string)]
    return tf.function(lambda texts: split_texts(texts, GRAPH, max_tokens), input_signature=signature)


@pytest.fixture(scope="module", params=[7, 40, 1000])
def both(request):
    """Returns (max_tokens, segments in Python, segments in the graph)."""
    max_tokens = request.param
    return max_tokens, segments.split_texts(TEXTS, PYTHON, max_tokens), graph(max_tokens)(tf.constant(TEXTS))


def test_segments_equal_those_of_python(both):
    max_tokens, expected, found = both
    rows = found.parts.merge_dims(1, 2).to_list()
    assert [[part.decode() for part in row] for row in rows] == [[part.text for part in parts] for parts in expected]
    assert segment_counts(found).numpy().tolist() == [len(parts) for parts in expected]
    assert max(map(len, PYTHON.encode([part.decode() for row in rows for part in row]))) <= max_tokens


def test_translations_are_joined_as_in_python(both):
    _, expected, found = both
    translations = tf.strings.join(["<", tf.strings.upper(found.parts.flat_values), ">"])
    translations = tf.where(tf.strings.length(translations) % 4 == 0, "", translations)  # Some have no translation.

    class Candidate:
        def __init__(self, text, score=0.0):
            self.text, self.score = text, score

    for parts, text in zip(expected, join_texts(found, translations).numpy(), strict=True):
        upper = (f"<{tf.strings.upper(part.text).numpy().decode()}>" for part in parts)
        chosen = [[Candidate("" if len(part.encode()) % 4 == 0 else part)] for part in upper]
        assert text.decode() == segments.join_segments(parts, chosen, Candidate)[0].text


def test_single_texts_and_invalid_bytes():
    one = graph(40)
    for text, expected in zip(TEXTS[:20], segments.split_texts(TEXTS[:20], PYTHON, 40)):
        found = one(tf.constant([text])).parts.merge_dims(1, 2).to_list()[0]
        assert [part.decode() for part in found] == [part.text for part in expected]
    found = one(tf.constant([b"a \xff b"])).parts.flat_values.numpy()
    assert [part.decode() for part in found] == ["a \ufffd b"]
    assert one(tf.constant([], tf.string)).parts.nrows() == 0
