"""Translators keep names that their corpus does not have; training gives them the words that it has."""

import copy

import numpy as np
import pytest

import zoo
from keras_transformer.decoding import Hypotheses
from zoo.config_values import override
from zoo.text.placeholders import placeholder
from zoo.translation import task
from zoo.translation.decoding import decode_texts

WORDS = "ann met the queen"


class Stub:
    """A translator of code points whose search writes other names than it reads."""

    max_source_tokens, split_sentences, placeholders, batch_tokens, known_words = 99, True, True, 99, WORDS
    glossary = {}

    def __init__(self):
        self.tokenizer, self.read = self, []

    def encode(self, texts):
        return [[ord(character) for character in text] for text in texts]

    def decode(self, rows):
        return ["".join(map(chr, row)).rstrip("\0") for row in rows]

    def rounded_width(self, length):
        return length

    def search_inputs(self, rows):
        return (rows,)

    def search(self, rows):
        texts = self.decode(rows)
        self.read += texts
        best = [text.replace("Sunniva", "Soleniva").replace("Bo", "ann") for text in texts]
        options = [[text, f"{text}!", text] for text in best]
        ids = np.zeros((len(rows), 3, 99), "int32")
        for i, row in enumerate(options):
            for k, text in enumerate(row):
                ids[i, k, : len(text)] = [ord(character) for character in text]
        scores = np.tile([-1.0, -2.0, -3.0], (len(rows), 1))
        return Hypotheses(ids, scores, scores, np.ones((len(rows), 3), "int32"))


def test_unseen_names_are_kept():
    stub, done = Stub(), []
    texts = ["Ann met B12, Sunniva. Ann met Ann.", "Bo met Ann.", "7", "", "Sunniva"]
    found = decode_texts(stub, texts, stub.search, 3, done.append)
    best = ["Ann met B12, Sunniva. Ann met Ann.", "ann met Ann.", "7", "", "Sunniva"]
    assert [options[0].text for options in found] == best
    assert [option.text for option in found[4]] == ["Sunniva", "Sunniva!"], "from the chosen search"
    assert f"Ann met {placeholder(0)}, Sunniva." in stub.read
    assert f"Ann met {placeholder(0)}, {placeholder(1)}." in stub.read
    assert len(stub.read) == 4 + 3, "texts without unseen names are translated once"
    assert sum(done) == 5, "segments, whose second translations do not count"


def test_without_known_words_nothing_is_translated_twice():
    stub = Stub()
    stub.known_words = ""
    [options] = decode_texts(stub, ["Ann met Sunniva."], stub.search, 3)
    assert options[0].text == "Ann met Soleniva." and len(stub.read) == 1


def test_terms_of_the_glossary_are_used():
    """And count as known words, so that nothing is translated twice because of them."""
    stub = Stub()
    stub.glossary = {"Vienna": "Wien", "Sunniva": "Sunna"}
    texts = ["Ann met B12, Vienna.", "Sunniva met Ann."]
    assert [options[0].text for options in decode_texts(stub, texts, stub.search, 3)] == [
        "Ann met B12, Wien.",
        "Sunna met Ann.",
    ]
    assert sorted(stub.read) == sorted([f"Ann met {placeholder(0)}, {placeholder(1)}.", f"{placeholder(0)} met Ann."])
    stub.placeholders = False
    with pytest.raises(ValueError, match="placeholders=False"):
        decode_texts(stub, texts, stub.search, 3)


def test_names_beside_terms_are_kept():
    stub = Stub()
    stub.glossary = {"Vienna": "Wien"}
    [options] = decode_texts(stub, ["Sunniva met Vienna."], stub.search, 3)
    assert options[0].text == "Sunniva met Wien." and len(stub.read) == 2


@pytest.mark.slow
@pytest.mark.long
def test_training_with_placeholders_gives_known_words(trained, corpus, tmp_path):
    settings = "steps=1", "cooldown_steps=0", "evaluate_every=1", "placeholders=true"
    recipe = override(trained.recipe, [f"training.{setting}" for setting in settings])
    pairs = [("Mano tek", "Zatis! un1"), *corpus.train[:20]]
    expected = {word for pair in corpus.train[:20] for text in pair for word in text.lower().rstrip(".!").split()}
    expected |= {"mano", "tek", "zatis", "un"}
    options = {"tokenizer": trained.translator.tokenizer, "log": lambda text: None}
    found = task.train(recipe, pairs, corpus.dev[:3], tmp_path / "a", **options)
    assert {*found.known_words.split()} == expected
    loaded = zoo.load(tmp_path / "a" / "checkpoint")
    assert loaded.known_words == found.known_words
    loaded.alignment_heads, loaded.beam_size, loaded.max_repeats = ((0, 0, "reads"),), 2, 5
    loaded.glossary = {"mano": " "}
    with pytest.raises(ValueError, match="Terms of `glossary` .* must be texts of one line"):
        loaded.save(tmp_path / "c")
    loaded.glossary = {"mano": "Hand"}
    again = task.train(recipe, [("Neu", "Nouveau")], corpus.dev[:3], tmp_path / "b", initial=loaded, **options)
    assert {*again.known_words.split()} == expected | {"neu", "nouveau"}
    assert (again.alignment_heads, again.beam_size, again.max_repeats) == (((0, 0, "reads"),), 2, 5)
    assert zoo.load(tmp_path / "b" / "checkpoint").glossary == {"mano": "Hand"}


@pytest.mark.slow
def test_exported_translators_keep_names_as_in_python(trained, tmp_path):
    """Of texts of which some are translated twice."""
    tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
    pytest.importorskip("tensorflow_text", reason="tensorflow-text is not installed")
    translator = copy.copy(trained.translator)
    translator.placeholders, translator.known_words = True, "mano tek luri"
    translator.glossary = {"Luri": "Xor Ym", "dala": "Qal"}
    texts = ["Mano tek", "Xan tek. Luri Qim", "mano B12 Xan", "", "7", "Soba! Pim Mano dala koru"]
    assert translator.export(tmp_path / "model", num_return=2)["known_words"] == 3
    found = tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"](tf.constant(texts))
    expected = translator.n_best(texts, 2)
    assert [text.decode() for text in found["translations"].numpy()] == [options[0].text for options in expected]
    np.testing.assert_allclose(found["scores"], [options[0].score for options in expected], atol=1e-5)
