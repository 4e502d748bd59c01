"""A SavedModel parses like its parser: CKY or a constrained search in a graph, and brackets as strings."""

import numpy as np
import pytest
import tensorflow as tf

pytest.importorskip("tensorflow_text", reason="tensorflow-text is not installed")
pytest.importorskip("nltk", reason="nltk is not installed")

from zoo.config import ModelConfig, SpanParserConfig
from zoo.models.seq2seq import Seq2Seq
from zoo.models.span_parser import SpanParser
from zoo.parsing import chart
from zoo.parsing.linear import Symbols
from zoo.parsing.linear_parser import LinearParser
from zoo.parsing.predictor import TreeParser
from zoo.parsing.trees import to_brackets
from zoo.text.tokenizer_training import train_tokenizer
from zoo.tf.parsing_service import best_trees

SENTENCES = [
    ["te", "lo"],
    [],
    ["xyzzyxyzzyxyzzyxyzzyxyzzy", "te"] * 7,
    ["🙂", "a b", "Sól", "(te)"],
    ["Te", "LO", "teX", ".", "sol", "te"],
    ["a"],
]


@pytest.mark.parametrize("places", [2, 3, 9])
def test_cky_in_a_graph(places):
    rng = np.random.default_rng(places)
    scores = rng.normal(size=(30, places * (places - 1) // 2)).astype("float32")
    lengths = rng.integers(1, places, 30).astype("int32")
    found = tf.function(best_trees)(scores, lengths).numpy()
    for row, spans in zip(found, chart.best_trees(scores, lengths)):
        assert {(i, i + w) for i, w in np.argwhere(row).tolist()} == {*spans}


@pytest.mark.parametrize(
    ("filters", "tree_crf"), [pytest.param(0, False, marks=pytest.mark.slow), (8, False), (0, True)]
)
def test_sentences_are_parsed_as_by_the_parser(filters, tree_crf, tmp_path):
    tokenizer = train_tokenizer(["te lo sol pana kir ute bim drum nok fris"], 300)
    sizes = {"num_layers": 1, "hidden_dim": 16, "intermediate_dim": 32, "num_heads": 2, "span_dim": 8}
    labels, tags = ["", "NP", "S VP", "ü"], ["NN", ".", "-LRB-"]
    config = SpanParserConfig(
        **sizes,
        vocabulary_size=tokenizer.vocabulary_size,
        num_labels=4,
        num_tags=3,
        character_filters=filters,
        tree_crf=tree_crf,
    )
    model, rng = SpanParser(config), np.random.default_rng(4)
    model.build()
    for variable in model.trainable_variables:
        if len(variable.shape) > 1:
            variable.assign(rng.normal(0, 0.1 if "characters" in variable.path else 1, variable.shape))
    model.head.bias.assign([0.0, 1.0, 2.0, 2.0])
    parser = TreeParser(model, tokenizer, labels, tags, max_tokens=12, batch_tokens=30)
    seen = check_trees(parser, tmp_path, [SENTENCES, SENTENCES[::-1], *([words] for words in SENTENCES), []])
    assert "(S (VP " in seen and "(ü " in seen and "(NP " in seen


def check_trees(parser, tmp_path, batches):
    """Compares an export with its parser; returns the trees."""
    parser.export(tmp_path / "model")
    parse = tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"]
    seen = ""
    for sentences in batches:
        width = max(map(len, sentences), default=0)
        filled = [[*words, *[""] * (width - len(words))] for words in sentences]
        found = parse(tf.constant(filled, tf.string, (len(sentences), width)))["trees"].numpy()
        expected = [to_brackets(tree) if tree else "" for tree in parser.parse(sentences)]
        assert [tree.decode() for tree in found] == expected
        seen += "".join(expected)
    return seen


@pytest.mark.slow
@pytest.mark.long
def test_sentences_are_parsed_as_by_the_linearised_parser(tmp_path, monkeypatch):
    """Random weights nest deeply, so that a small limit of the depth leaves constituents out."""
    monkeypatch.setattr(Symbols, "max_depth", 2)
    tokenizer = train_tokenizer(["te lo sol pana kir ute bim drum nok fris"], 300)
    labels, tags = ["NP", "ü"], ["NN", "-LRB-"]
    sizes = {"num_encoder_layers": 1, "num_decoder_layers": 1, "hidden_dim": 16, "intermediate_dim": 32, "num_heads": 2}
    config = ModelConfig(**sizes, vocabulary_size=Symbols(labels, tags, tokenizer.vocabulary_size).size)
    model, rng = Seq2Seq(config), np.random.default_rng(6)
    model.build()
    for variable in model.trainable_variables:
        if len(variable.shape) > 1:
            variable.assign(rng.normal(0, 1, variable.shape))
    parser = LinearParser(model, tokenizer, labels, tags, max_tokens=12, batch_tokens=60, beam_size=2)
    seen = check_trees(parser, tmp_path, [SENTENCES, SENTENCES[4:5], []])
    assert any(f"({label} " in seen for label in labels) and any(f"({tag} " in seen for tag in tags)
    deepest = (
        max(tree.height() for tree in parser.parse(SENTENCES) if tree) - 3
    )  # Less the root, the tags and the words.
    assert deepest == 2
    monkeypatch.setattr(Symbols, "max_depth", 198)
    assert max(tree.height() for tree in parser.parse(SENTENCES) if tree) - 3 > 2
