"""Classifiers and taggers from Hugging Face folders compute the equations of their heads; others are refused."""

import json

import numpy as np
import pytest
import reference as ref
import safetensors.numpy
from bert_arrays import BLOCKS, CONFIG, DISTILBERT, PIECES, POSITIONS, D, F, N, bert, random_arrays

import zoo
from zoo.__main__ import main
from zoo.classification import task
from zoo.classification.data import open_examples
from zoo.classification.recipes import SMALL
from zoo.config_values import override
from zoo.conversion.from_bert import load_bert
from zoo.conversion.hugging_face import load_folder

LABELS = ["bad", "fair", "good"]
CLASSIFIER, TAGGER = "BertForSequenceClassification", "BertForTokenClassification"
TEXTS = ["a b c d e", "q", "", "a b c d e f g h i j k l m n o p"]


def head_arrays(*layers):
    rng = np.random.default_rng(5)
    sizes = {name: len(LABELS) if name == layers[-1] else D for name in layers}
    shapes = {f"{name}.weight": (size, D) for name, size in sizes.items()}
    shapes |= {f"{name}.bias": (size,) for name, size in sizes.items()}
    return {name: rng.normal(0, 0.7, shape).astype("float32") for name, shape in shapes.items()}


def write(folder, arrays, architecture, **config):
    folder.mkdir()
    labels = {str(i): label for i, label in enumerate(LABELS)}
    config = {**CONFIG, "architectures": [architecture], "id2label": labels, **config}
    (folder / "config.json").write_text(
        json.dumps({name: value for name, value in config.items() if value is not None})
    )
    (folder / "vocab.txt").write_text("\n".join(PIECES), "utf-8")
    safetensors.numpy.save_file(arrays, folder / "model.safetensors")
    return folder


def states(arrays, rows, segments=None):
    width = max(map(len, rows))
    ids = np.array([[*row, *[0] * (width - len(row))] for row in rows])
    segments = 0 * ids if segments is None else np.array(segments)
    return bert({name: array.astype("float64") for name, array in arrays.items()}, ids, segments, ids > 0)


def layer(arrays, name, x):
    return x @ arrays[f"{name}.weight"].T.astype("float64") + arrays[f"{name}.bias"]


def framed(predictor, text):
    return [2, *predictor.tokenizer.encode([text])[0][: POSITIONS - 2], 3]


def test_a_classifier_has_the_pooler_of_bert(tmp_path):
    encoder, head = random_arrays(), head_arrays("pooler.dense", "classifier")
    named = {f"bert.{name}": array for name, array in {**encoder, **head}.items() if not name.startswith("classifier")}
    named |= {name: array for name, array in head.items() if name.startswith("classifier")}
    classifier = zoo.load(write(tmp_path / "a", named, CLASSIFIER))
    assert classifier.task == "classification" and classifier.labels == LABELS
    first = states(encoder, [framed(classifier, text) for text in TEXTS])[:, 0]
    expected = ref.softmax(layer(head, "classifier", np.tanh(layer(head, "pooler.dense", first))))
    np.testing.assert_allclose(classifier.probabilities(TEXTS), expected, atol=2e-5)
    classifier.save(tmp_path / "b")
    assert zoo.load(tmp_path / "b").classify(TEXTS) == classifier.classify(TEXTS)


def test_the_number_of_labels_takes_precedence_over_their_names(tmp_path):
    arrays = {**random_arrays(), **head_arrays("pooler.dense", "classifier")}
    folder = write(tmp_path / "a", arrays, CLASSIFIER, num_labels=3, id2label={"0": "no", "1": "yes"})
    assert zoo.load(folder).labels == ["LABEL_0", "LABEL_1", "LABEL_2"]


def test_a_classifier_of_pairs_has_segments(tmp_path):
    encoder, head = random_arrays(), head_arrays("pooler.dense", "classifier")
    folder = write(tmp_path / "a", {**encoder, **head}, CLASSIFIER)
    assert main(["convert", str(folder), "--pairs", "--output", str(tmp_path / "b")]) == 0
    classifier = zoo.load(tmp_path / "b")
    one, other = (classifier.tokenizer.encode([text])[0] for text in ("a b", "c d e"))
    row, segments = [2, *one, 3, *other, 3], [0] * (len(one) + 2) + [1] * (len(other) + 1)
    first = states(encoder, [row], [segments])[:, 0]
    expected = ref.softmax(layer(head, "classifier", np.tanh(layer(head, "pooler.dense", first))))
    np.testing.assert_allclose(classifier.probabilities([("a b", "c d e")]), expected, atol=2e-5)


def test_a_tagger_labels_words_by_their_first_pieces(tmp_path):
    encoder, head = random_arrays(), head_arrays("classifier")
    del encoder["pooler.dense.weight"]
    tagger = zoo.load(write(tmp_path / "a", {f"bert.{n}": a for n, a in encoder.items()} | head, TAGGER))
    assert tagger.task == "labelling" and tagger.labels == LABELS
    words = ["a", "q", "c"]
    (found,) = tagger.probabilities([words])
    expected = layer(head, "classifier", states(encoder, [framed(tagger, " ".join(words))])[0])
    np.testing.assert_allclose(found, ref.softmax(expected)[1:-1], atol=2e-5)


def test_distilbert_has_a_pooler_with_relu(tmp_path):
    encoder, head = random_arrays(), head_arrays("pre_classifier", "classifier")
    encoder["embeddings.token_type_embeddings.weight"] *= 0
    named = {}
    for name, array in encoder.items():
        *front, kind = name.split(".")
        if front[0] == "encoder":
            named[f"distilbert.transformer.layer.{front[2]}.{DISTILBERT['.'.join(front[3:])]}.{kind}"] = array
        elif "token_type" not in name and front[0] != "pooler":
            named[f"distilbert.{name}"] = array
    sizes = {"n_layers": BLOCKS, "dim": D, "hidden_dim": F, "n_heads": N, "dropout": 0.1, "attention_dropout": 0.1}
    config = {"model_type": "distilbert", "activation": "gelu", **sizes, "hidden_act": None, "type_vocab_size": None}
    folder = write(tmp_path / "a", {**named, **head}, "DistilBertForSequenceClassification", **config)
    classifier = zoo.load(folder)
    first = states(encoder, [framed(classifier, text) for text in TEXTS])[:, 0]
    expected = ref.softmax(layer(head, "classifier", np.maximum(layer(head, "pre_classifier", first), 0)))
    np.testing.assert_allclose(classifier.probabilities(TEXTS), expected, atol=2e-5)


def test_a_classifier_is_trained_further(tmp_path):
    """From the encoder, to other classes."""
    classifier = zoo.load(
        write(tmp_path / "a", {**random_arrays(), **head_arrays("pooler.dense", "classifier")}, CLASSIFIER)
    )
    changes = ["training.steps=1", "training.evaluate_every=1", "training.cooldown_steps=0", "model.ngrams=0"]
    recipe = override(SMALL, [*changes, "training.peak_learning_rate=1e-9"])
    (tmp_path / "examples.tsv").write_text("x\ta b\ny\tq\n" * 4)
    examples = open_examples(tmp_path / "examples.tsv")
    tuned = task.train(recipe, examples, examples, tmp_path / "run", initial=classifier, log=lambda text: None)
    vectors = (m.text_encoder({"token_ids": np.array([[2, 5, 9, 3]])})[0] for m in (classifier.model, tuned.model))
    np.testing.assert_allclose(*map(np.asarray, vectors), atol=1e-5)
    assert tuned.labels == ["x", "y"]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"architectures": ["BertForQuestionAnswering"]}, "Received: 'BertForQuestionAnswering'. Use another"),
        ({"architectures": ["RobertaModel"]}, "an architecture of BertModel or .* Received: 'RobertaModel'"),
        ({"problem_type": "regression"}, "Received: problem_type='regression'"),
        ({"id2label": {"0": "LABEL_0"}}, "at least two labels, .* Received: {'0': 'LABEL_0'}"),
        ({"id2label": {"0": "x", "1": "x", "2": "y"}}, "different names"),
        ({"id2label": {"1": "x", "2": "y", "3": "z"}}, "numbered from 0"),
        ({"id2label": {"0": "x", "1": "y"}}, r"'classifier.weight' must have shape \(2, 12\). Received: \(3, 12\)"),
        ({"id2label": None}, r"'classifier.weight' must have shape \(2, 12\)"),
        ({"num_labels": 4}, r"'classifier.weight' must have shape \(4, 12\)"),
        ({"num_labels": "many"}, "num_labels"),
    ],
)
def test_other_heads_are_refused(tmp_path, config, message):
    arrays = {**random_arrays(), **head_arrays("pooler.dense", "classifier")}
    with pytest.raises(ValueError, match=message):
        zoo.load(write(tmp_path / "a", arrays, **{"architecture": CLASSIFIER, **config}))


def test_pairs_need_a_classifier_with_segments(tmp_path):
    with pytest.raises(ValueError, match="reads pairs. Received: a BertModel"):
        load_bert(write(tmp_path / "a", random_arrays(), "BertModel"), pairs=True)
    with pytest.raises(ValueError, match="A gpt2 model has no `pairs`"):
        load_folder(write(tmp_path / "b", {}, "GPT2LMHeadModel", model_type="gpt2"), pairs=True)


def test_a_missing_layer_is_named(tmp_path):
    arrays = {**random_arrays(), **head_arrays("classifier")}
    with pytest.raises(ValueError, match="'pooler.dense.bias' must have shape .* Received: none"):
        zoo.load(write(tmp_path / "a", arrays, CLASSIFIER))
