"""A SavedModel classifies and labels like its predictor, also in a process without this package."""

import json
import os

import byte_pair_folder as files
import numpy as np
import pytest
import tensorflow as tf
from fresh_process import last_line

from zoo.classification.predictor import TextClassifier
from zoo.config import ClassifierConfig, TaggerConfig
from zoo.labelling.predictor import WordTagger
from zoo.models.classifier import Classifier
from zoo.models.tagger import Tagger
from zoo.serving.predictor import CARD
from zoo.text.byte_pair_tokenizer import BytePairTokenizer
from zoo.text.tokenizer_training import train_tokenizer
from zoo.text.word_pieces import WordPieceTokenizer

pytest.importorskip("tensorflow_text", reason="tensorflow-text is not installed")

TEXTS = ["te lo", "", "sol " * 9, "🙂 Sól!", " ", "pana kir ute " * 4, "te\nlo\tx", "aß中b"]
SENTENCES = [
    ["te", "lo"],
    [],
    ["xyzzyxyzzyxyzzyxyzzyxyzzy", "te"] * 7,
    ["🙂", "a b", "Sól"],
    ["\u200b", "te"],
    ["Te", "LO", "teX"],
]
LABELS = ["a", "ü", "c d"]
SIZES = {"num_layers": 1, "hidden_dim": 16, "intermediate_dim": 32, "num_heads": 2}
VOCABULARIES = {
    "subwords": train_tokenizer(["te lo sol pana kir ute bim drum nok fris"], 300),
    "word pieces": WordPieceTokenizer(
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "te", "lo", "sol", "x", "##y", "##z", "a", "b", "!", "中"]
    ),
    "byte pairs": BytePairTokenizer.from_vocabulary(files.make_vocabulary(files.ROBERTA), files.MERGES, {"pad": 1})[0],
}


def spread(model):
    """Makes weights large enough for labels to differ."""
    model.build()
    rng = np.random.default_rng(4)
    for variable in model.trainable_variables:
        if len(variable.shape) > 1:
            scale = 0.02 if "ngrams" in variable.path else 0.1 if "characters" in variable.path else 1
            variable.assign(rng.normal(0, scale, variable.shape))
    return model


def classifier(vocabulary, num_texts=1, ngrams=0):
    tokenizer = VOCABULARIES[vocabulary]
    sizes = {**SIZES, "vocabulary_size": tokenizer.vocabulary_size, "num_texts": num_texts, "num_classes": 3}
    sizes["ngrams"] = ngrams
    model = spread(Classifier(ClassifierConfig(**sizes, num_segments=2 * (num_texts - 1))))
    return TextClassifier(model, tokenizer, LABELS, max_tokens=12, batch_tokens=30)


def tagger(vocabulary, filters=0):
    tokenizer = VOCABULARIES[vocabulary]
    sizes = {**SIZES, "vocabulary_size": tokenizer.vocabulary_size, "num_labels": 3}
    model = spread(Tagger(TaggerConfig(**sizes, character_filters=filters)))
    return WordTagger(model, tokenizer, LABELS, max_tokens=12, batch_tokens=30)


def served(predictor, folder):
    predictor.export(folder)
    return tf.saved_model.load(str(folder)).signatures


def strings(tensor):
    return np.char.decode(tensor.numpy().astype(bytes), "utf-8")


def filled(sentences):
    width = max(map(len, sentences), default=0)
    return [[*words, *[""] * (width - len(words))] for words in sentences]


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("vocabulary", "ngrams"),
    [
        ("subwords", 2),
        ("word pieces", 0),
        pytest.param("subwords", 0, marks=SLOW),
        pytest.param("word pieces", 2, marks=SLOW),
    ],
)
def test_texts_are_classified_as_by_the_classifier(vocabulary, ngrams, tmp_path):
    original = classifier(vocabulary, ngrams=ngrams)
    classify = served(original, tmp_path / "model")["serving_default"]
    for texts in (TEXTS, TEXTS[::-1], *([text] for text in TEXTS), []):
        found = classify(tf.constant(texts, tf.string))
        np.testing.assert_allclose(found["probabilities"], original.probabilities(texts), atol=1e-5)
        assert strings(found["labels"]).tolist() == [label for label, _ in original.classify(texts)]
    assert len({label for label, _ in original.classify(TEXTS)}) > 1


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_pairs_are_truncated_as_by_the_classifier(vocabulary, tmp_path):
    """Tests all lengths on both sides."""
    original = classifier(vocabulary, num_texts=2)
    classify = served(original, tmp_path / "model")["serving_default"]
    pairs = [("te " * i, "lo " * j) for i in range(0, 16, 3) for j in range(0, 16, 2)]
    first, second = map(list, zip(*pairs))
    found = classify(text=tf.constant(first), second=tf.constant(second))
    np.testing.assert_allclose(found["probabilities"], original.probabilities(pairs), atol=1e-5)


@pytest.mark.parametrize(
    ("vocabulary", "filters"),
    [
        ("subwords", 0),
        ("word pieces", 8),
        pytest.param("subwords", 8, marks=SLOW),
        pytest.param("word pieces", 0, marks=SLOW),
        pytest.param("byte pairs", 0, marks=SLOW),
    ],
)
def test_words_are_tagged_as_by_the_tagger(vocabulary, filters, tmp_path):
    original = tagger(vocabulary, filters)
    tag = served(original, tmp_path / "model")["serving_default"]
    for sentences in (SENTENCES, SENTENCES[::-1], *([words] for words in SENTENCES), []):
        words = tf.constant(filled(sentences), tf.string, (len(sentences), max(map(len, sentences), default=0)))
        found = tag(words)
        expected, rows = original.tag(sentences), original.probabilities(sentences)
        assert strings(found["labels"]).tolist() == filled(expected)
        for row, probabilities in zip(found["probabilities"].numpy(), rows, strict=True):
            np.testing.assert_allclose(row[: len(probabilities)], probabilities.max(-1), atol=1e-5)
            assert not row[len(probabilities) :].any()
    assert len({label for labels in original.tag(SENTENCES) for label in labels}) > 1


@pytest.mark.slow
def test_a_fresh_process_needs_tensorflow_text_only(tmp_path):
    original = classifier("subwords")
    assert original.export(tmp_path / "classes") == json.loads((tmp_path / "classes" / CARD).read_text("utf-8"))
    tagger("word pieces").export(tmp_path / "labels")
    code = f"""
import json, tensorflow as tf, tensorflow_text
classify, tag = (tf.saved_model.load({str(tmp_path)!r} + "/" + name).signatures["serving_default"]
                 for name in ("classes", "labels"))
labels = classify(tf.constant({TEXTS!r}))["labels"], tag(tf.constant({filled(SENTENCES)!r}))["labels"]
print(json.dumps([[l.decode() for l in labels[0].numpy()],
                  [[l.decode() for l in row] for row in labels[1].numpy()]]))
"""
    classes, labels = json.loads(last_line(code))
    assert classes == [label for label, _ in original.classify(TEXTS)]
    assert labels == filled(tagger("word pieces").tag(SENTENCES))


@pytest.mark.parametrize("make", [classifier, tagger])
def test_an_export_with_other_results_is_not_kept(make, tmp_path, monkeypatch):
    original = make("subwords")
    own, compiled = original.softmax, original.compiled(original.softmax)
    monkeypatch.setattr(original, "compiled", lambda function: compiled)
    monkeypatch.setattr(original, "softmax", lambda *ids: own(*ids)[..., ::-1])
    with pytest.raises(RuntimeError, match="differs from its model for .*so it was deleted"):
        original.export(tmp_path / "model")
    assert not os.listdir(tmp_path)
