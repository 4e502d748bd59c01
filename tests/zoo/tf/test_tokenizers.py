"""The tokenizer in a graph equals that in Python, and can be saved in a SavedModel."""

import gzip
import itertools
import os
import pathlib
import random
import runpy
import sys

import keras
import pytest
import tensorflow as tf
from small_vocabulary import TOKENIZER as PYTHON
from small_vocabulary import WORDS

from zoo.corpora.batching import source_batch
from zoo.text.tokenizer_training import train_tokenizer

tokenizers = pytest.importorskip("zoo.tf.tokenizers", reason="tensorflow-text is not installed", exc_type=ImportError)

RANDOM = random.Random(0)


def random_text():
    """Makes texts of words, spaces, special tokens and characters of all planes."""
    parts = []
    for _ in range(RANDOM.randrange(12)):
        character = chr(RANDOM.choice([*range(1, 0xD800, 97), *range(0xE000, 0x110000, 4099)]))
        parts.append(RANDOM.choice([RANDOM.choice(WORDS), character, " ", "  ", "<s>", "</s>", "<0x41>", "\n"]))
    return RANDOM.choice(["", " "]).join(parts).replace("\u2581", "")


GRAPH = tokenizers.GraphTokenizer(PYTHON)
TEXTS = ["", " ", " lead", "tail ", *(random_text() for _ in range(400))]


def test_ids_and_texts_equal_those_of_python():
    rows = PYTHON.encode(TEXTS)
    ids = tf.function(GRAPH.encode)(tf.constant(TEXTS))
    assert ids.to_list() == rows
    assert [text.decode() for text in GRAPH.decode(ids).numpy()] == TEXTS == PYTHON.decode(rows)
    batch = tf.function(GRAPH.source_ids)(tf.constant(TEXTS)).to_tensor()
    assert batch.dtype == tf.int32 and batch.numpy().tolist() == source_batch(rows).tolist()


def test_lower_case_equals_that_of_python():
    python = train_tokenizer(TEXTS, 2000, lowercase=True)
    texts = [*TEXTS, *map(str.upper, TEXTS)]
    assert tokenizers.GraphTokenizer(python).encode(tf.constant(texts)).to_list() == python.encode(texts)


def test_words_equal_those_of_python():
    rows = PYTHON.encode(TEXTS)
    numbers = tf.function(lambda texts: GRAPH.word_numbers(GRAPH.encode(texts)))(tf.constant(TEXTS)).to_list()
    for row, found in zip(rows, numbers, strict=True):
        _, spans = PYTHON.words(row)
        assert found == [word for word, (first, last) in enumerate(spans) for _ in range(first, last)]


def test_setting_a_seed_keeps_traced_functions_valid():
    encode, decode = tf.function(GRAPH.encode), tf.function(GRAPH.decode)
    ids = encode(tf.constant(TEXTS))
    texts = decode(ids)
    keras.utils.set_random_seed(1)
    assert encode(tf.constant(TEXTS)).to_list() == ids.to_list() == GRAPH.encode(tf.constant(TEXTS)).to_list()
    assert decode(ids).numpy().tolist() == texts.numpy().tolist()


def test_decoding_ignores_special_ids():
    ids = PYTHON.encode(["the dog"])[0]
    rows = [[2, *ids, 3, 0, 0], [2, 3] + [0] * (len(ids) + 2), [ids[0], 1, 0, *ids[1:], 0, 0]]
    assert GRAPH.decode(tf.constant(rows)).numpy().tolist() == [b"the dog", b"", b"the dog"]
    assert PYTHON.decode(rows) == ["the dog", "", "the dog"]


def test_tokenizer_goes_into_a_saved_model(tmp_path):
    class Echo(tf.Module):
        def __init__(self):
            super().__init__()
            self.tokenizer = GRAPH

        @tf.function(input_signature=[tf.TensorSpec((None,), tf.string)])
        def __call__(self, text):
            return {
                "ids": self.tokenizer.source_ids(text).to_tensor(),
                "text": self.tokenizer.decode(self.tokenizer.source_ids(text).to_tensor()),
            }

    module = Echo()
    tf.saved_model.save(module, str(tmp_path), signatures=module.__call__)
    loaded = tf.saved_model.load(str(tmp_path)).signatures["serving_default"]
    for texts in (TEXTS[:3], TEXTS[5:12]):
        result = loaded(tf.constant(texts))
        assert result["ids"].numpy().tolist() == source_batch(PYTHON.encode(texts)).tolist()
        assert [text.decode() for text in result["text"].numpy()] == texts


def test_real_lines():
    folder = os.environ.get("KERAS_TRANSFORMER_DATA")
    path = pathlib.Path(folder or "") / "translation/tatoeba_eng_deu/train.tsv.gz"
    if not folder or not path.exists():
        pytest.skip("KERAS_TRANSFORMER_DATA names no folder with translation/tatoeba_eng_deu")
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        texts = [text for line in itertools.islice(lines, 1000) for text in line.rstrip("\n").split("\t")]
    python = train_tokenizer(texts, 2000)
    graph = tokenizers.GraphTokenizer(python)
    ids = graph.encode(tf.constant(texts))
    assert ids.to_list() == python.encode(texts)
    assert [text.decode() for text in graph.decode(ids).numpy()] == texts


def test_missing_tensorflow_text_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_text", None)
    with pytest.raises(ImportError, match="needs tensorflow-text. Install it: .* -m pip install .*tensorflow-text"):
        runpy.run_path(tokenizers.__file__)


@pytest.mark.parametrize("pieces", ["subwords", "characters", "bytes"])
def test_whole_texts_are_the_same_in_a_graph(pieces):
    tokenizer = train_tokenizer(["a text, a text\n", " and more"], 290, pieces=pieces, whole_texts=True)
    graph, texts = tokenizers.GraphTokenizer(tokenizer), [" and", "", "\n\n a", "Straße 🙂", "  two"]
    ids = graph.encode(tf.constant(texts))
    assert ids.to_list() == tokenizer.encode(texts)
    assert [text.decode() for text in graph.decode(ids).numpy()] == texts
