"""Tests of `examples`, which encodes texts for `model.fit`."""

import keras
import numpy as np
import pytest
from nltk.tree import Tree
from small_vocabulary import TOKENIZER

from keras_transformer.training import TokenCrossEntropy
from zoo.classification.predictor import TextClassifier
from zoo.config import (
    END_ID,
    START_ID,
    ClassifierConfig,
    EncoderConfig,
    ModelConfig,
    SpanParserConfig,
    TaggerConfig,
)
from zoo.labelling.predictor import WordTagger
from zoo.parsing.linear import Symbols
from zoo.parsing.linear_parser import LinearParser
from zoo.parsing.predictor import TreeParser
from zoo.pretraining.predictor import MaskedEncoder
from zoo.translation.predictor import Translator

SIZES = {"vocabulary_size": 380, "hidden_dim": 16, "intermediate_dim": 32, "num_heads": 2, "dropout": 0.0}
SOURCES = ["the small dog", "a large house and the dog", "", "sees", "the house"]
TARGETS = ["der kleine Hund", "ein großes Haus und der Hund", "", "sieht", "das Haus"]
TREES = [
    Tree.fromstring("(TOP (S (NP (DT the) (NN dog)) (VP (VB sees) (NP (DT a) (NN house)))))"),
    Tree.fromstring("(TOP (NP (DT the) (NN house)))"),
    Tree.fromstring("(S (NP-SBJ (DT a) (NN dog)) (VP (VB sees)))"),
]
LABELS, TAGS = ["", "NP", "S", "VP"], ["DT", "NN", "VB"]


def built(predictor_class, config, *arguments, vocabulary=TOKENIZER, **options):
    keras.utils.set_random_seed(1)
    model = predictor_class.model_class(config)
    model.build()
    return predictor_class(model, vocabulary, *arguments, **options)


def encoder(config_class, **sizes):
    return config_class(**SIZES, num_layers=1, **sizes)


def translator():
    return built(Translator, ModelConfig(**SIZES, num_encoder_layers=1, num_decoder_layers=1))


def classifier(num_texts=1):
    sizes = {"num_classes": 2, "num_texts": num_texts, "num_segments": 2 * (num_texts > 1)}
    return built(TextClassifier, encoder(ClassifierConfig, **sizes), ["bad", "good"])


def linear_parser():
    names, sizes = {"labels": LABELS[1:], "tags": TAGS}, {"num_encoder_layers": 1, "num_decoder_layers": 1}
    size = Symbols(**names, first=TOKENIZER.vocabulary_size).size
    return built(LinearParser, ModelConfig(**{**SIZES, "vocabulary_size": size}, **sizes), **names)


CASES = {
    "translator": (translator, (SOURCES, TARGETS)),
    "classifier": (classifier, (SOURCES, ["good", "bad", "bad", "good", "bad"])),
    "classifier of pairs": (lambda: classifier(2), ([*zip(SOURCES, TARGETS)], ["good", "bad", "bad", "good", "bad"])),
    "tagger": (
        lambda: built(WordTagger, encoder(TaggerConfig, num_labels=3, character_filters=4), TAGS),
        ([["the", "dog"], ["sees"], ["a", "house"]], [["DT", "NN"], ["VB"], ["DT", "NN"]]),
    ),
    "parser": (
        lambda: built(TreeParser, encoder(SpanParserConfig, num_labels=4, num_tags=3, span_dim=8), LABELS, TAGS),
        (TREES,),
    ),
    "linearised parser": (linear_parser, (TREES,)),
    "encoder": (lambda: built(MaskedEncoder, encoder(EncoderConfig), max_tokens=32), (SOURCES,)),
}


QUICK = "translator", "encoder"


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in QUICK)) for name in CASES])
def test_examples_are_learned_by_fit(name):
    make, inputs = CASES[name]
    predictor = make()
    predictor.model.compile(keras.optimizers.Adam(0.01), loss=TokenCrossEntropy(pad_id=predictor.pad_label))
    examples = predictor.examples(*inputs, batch_size=2)
    losses = predictor.model.fit(examples, epochs=12, verbose=0, shuffle=False).history["loss"]
    assert np.isfinite(losses).all() and losses[-1] < 0.8 * losses[0], losses


def test_batches_are_those_of_the_texts():
    """Source and end; a decoder reads the start and predicts the end."""
    examples = translator().examples(SOURCES, TARGETS, batch_size=5, shuffle=False)
    ((inputs, labels),) = [*examples.as_numpy_iterator()]
    for number, (source, target) in enumerate(zip(*map(TOKENIZER.encode, (SOURCES, TARGETS)))):
        for found, expected in (
            (inputs["source"], [*source, END_ID]),
            (inputs["target"], [START_ID, *target, END_ID]),
            (labels, [*target, END_ID]),
        ):
            assert found[number].tolist() == (expected + [0] * found.shape[1])[: found.shape[1]]
    assert inputs["source"].shape[1] == 1 + max(map(len, TOKENIZER.encode(SOURCES)))
    assert inputs["target"].shape == labels.shape == (5, 1 + max(map(len, TOKENIZER.encode(TARGETS))))


def test_each_epoch_has_all_examples_in_another_order():
    def order(examples):
        return [int(label) for _, labels in examples.as_numpy_iterator() for label in labels]

    texts, labels = [f"the dog {i}" for i in range(20)], ["good"] * 4 + ["bad"] * 16
    examples = classifier().examples(texts, labels, batch_size=3)
    assert len(examples) == 7
    first, second = order(examples), order(examples)
    assert sorted(first) == sorted(second) == [0] * 16 + [1] * 4 and first != second
    again = classifier().examples(texts, labels, batch_size=3)
    assert [order(again), order(again)] == [first, second]
    assert order(classifier().examples(texts, labels, batch_size=3, shuffle=False)) == [1] * 4 + [0] * 16


@pytest.mark.parametrize(
    "name, inputs, message",
    [
        ("translator", (SOURCES, TARGETS[1:]), "`sources` and `targets` must have the same length. Received: 5 and 4"),
        ("translator", ("the dog", "der Hund"), "`sources` must be a list of strings. Received: 'the dog'"),
        ("translator", ([], []), "at least one example. Received: none"),
        ("classifier", ([], []), "at least one example. Received: none"),
        ("encoder", ([""],), "at least one example. Received: none"),
        ("classifier", (["the dog"], ["great"]), "Each label must be one of bad, good. Received: 'great'"),
        ("tagger", ([["the", "dog"]], [["DT"]]), r"`sentences\[0\]` and `labels\[0\]` must have the same length"),
        ("parser", ([Tree.fromstring("(TOP (X (DT the)))")],), "Each label must be one of .*Received: 'X'"),
        ("parser", ([Tree.fromstring("(TOP (NP (ADJ big) (NN dog)))")],), "Each tag must be one of .*Received: 'ADJ'"),
        ("parser", ([TREES[0], Tree.fromstring("(TOP (-NONE- *))")],), r"must have words.*trees\[1\]"),
        ("linearised parser", ([Tree("TOP", [Tree("NN", ["dog"])] * 300)],), r"at most 256 tokens. .*of 300 words"),
    ],
)
def test_invalid_examples_raise(name, inputs, message):
    with pytest.raises(ValueError, match=message):
        CASES[name][0]().examples(*inputs)
