"""RoBERTa from a folder is a BERT with byte pairs and positions from 2 on; unknown folders are refused."""

import bert_arrays
import byte_pair_folder as files
import numpy as np
import pytest
import reference as ref

import zoo
from zoo.config_values import override
from zoo.conversion.from_roberta import load_roberta
from zoo.labelling import task
from zoo.labelling.data import SentenceReader
from zoo.labelling.recipes import RECIPES
from zoo.models.tagger import Tagger

D, POSITIONS = bert_arrays.D, bert_arrays.POSITIONS
VOCABULARY = files.make_vocabulary(first=files.ROBERTA, last=["<mask>"])
V = len(VOCABULARY)
CONFIG = {
    **bert_arrays.CONFIG,
    "model_type": "roberta",
    "vocab_size": V,
    "max_position_embeddings": POSITIONS + 2,
    "type_vocab_size": 1,
    "layer_norm_eps": 1e-5,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
}


def random_arrays(segments=1):
    rng = np.random.default_rng(3)
    sizes = {"word": V, "position": POSITIONS + 2, "token_type": segments}
    tables = {f"embeddings.{name}_embeddings.weight": (rows, D) for name, rows in sizes.items()}
    tables = {name: rng.normal(0, 0.5, shape).astype("float32") for name, shape in tables.items()}
    return {**bert_arrays.random_arrays(), **tables}


def write(folder, arrays=None, head=None, **config):
    arrays = {f"roberta.{name}": array for name, array in (arrays or random_arrays()).items()}
    pretrained = {"lm_head.dense.weight": np.zeros((D, D), "float32"), "lm_head.bias": np.zeros(V, "float32")}
    return files.write_folder(folder, {**CONFIG, **config}, VOCABULARY, {**arrays, **(head or pretrained)})


def expected_states(arrays, rows, segments=None):
    """Computes hidden states of published ids, padded with 1."""
    name = "embeddings.position_embeddings.weight"
    shifted = {**arrays, name: arrays[name][2:]}
    segments = 0 * rows if segments is None else segments
    return bert_arrays.bert({n: a.astype("float64") for n, a in shifted.items()}, rows, segments, rows != 1, 1e-5)


@pytest.mark.parametrize("segments", [1, 2])
def test_hidden_states_follow_the_paper(tmp_path, segments):
    arrays = random_arrays(segments)
    encoder = zoo.load(write(tmp_path / "a", arrays, type_vocab_size=segments))
    tokenizer = encoder.tokenizer
    assert [VOCABULARY[piece] for piece in tokenizer.pieces[:4]] == [1, 3, 0, 2]
    assert tokenizer.pieces[tokenizer.mask_id] == "<mask>" and encoder.max_tokens == POSITIONS
    ids = np.array([[2, *tokenizer.encode(["the dog"])[0], 3], [2, 9, 3, 0, 0, 0]])
    rows = np.vectorize(lambda i: VOCABULARY[tokenizer.pieces[i]])(ids)
    given = {} if segments == 1 else {"segment_ids": np.array([[0, 0, 0, 1, 1, 1]] * 2)}
    found = np.asarray(encoder.model({"token_ids": ids, **given}))
    expected = expected_states(arrays, rows, given.get("segment_ids"))
    np.testing.assert_allclose(found[ids > 0], expected[ids > 0], atol=2e-5)


def test_a_classifier_has_two_dense_layers(tmp_path):
    arrays, rng = random_arrays(), np.random.default_rng(5)
    shapes = {"dense.weight": (D, D), "dense.bias": (D,), "out_proj.weight": (3, D), "out_proj.bias": (3,)}
    head = {f"classifier.{name}": rng.normal(0, 0.7, shape).astype("float32") for name, shape in shapes.items()}
    config = {"architectures": ["RobertaForSequenceClassification"], "num_labels": 3}
    classifier = zoo.load(write(tmp_path / "a", arrays, head, **config))
    ids = classifier.tokenizer.encode(["the see"])[0]
    rows = np.array([[0, *(VOCABULARY[classifier.tokenizer.pieces[i]] for i in ids), 2]])
    pooled = np.tanh(
        expected_states(arrays, rows)[:, 0] @ head["classifier.dense.weight"].T + head["classifier.dense.bias"]
    )
    expected = ref.softmax(pooled @ head["classifier.out_proj.weight"].T + head["classifier.out_proj.bias"])
    np.testing.assert_allclose(classifier.probabilities(["the see"]), expected, atol=2e-5)


def test_embeddings_and_checkpoints(tmp_path):
    arrays = random_arrays()
    encoder = load_roberta(write(tmp_path / "a", arrays))
    ids = encoder.tokenizer.encode(["the see"])[0]
    rows = np.array([[0, *(VOCABULARY[encoder.tokenizer.pieces[i]] for i in ids), 2]])
    mean = expected_states(arrays, rows)[0].mean(0)
    for encoder.jit_compile in (False, True):  # With True, widths are rounded up, to all positions at most.
        np.testing.assert_allclose(encoder.embed(["the see"])[0], mean / np.linalg.norm(mean), atol=1e-5)
    encoder.save(tmp_path / "b")
    np.testing.assert_allclose(zoo.load(tmp_path / "b").embed(["a", ""]), encoder.embed(["a", ""]), atol=1e-6)


def test_words_of_a_sentence_have_a_space_before_them(tmp_path):
    """As in the texts that a RoBERTa has read."""
    encoder = load_roberta(write(tmp_path / "a"))
    changes = {"steps": 1, "cooldown_steps": 0, "evaluate_every": 1, "peak_learning_rate": 1e-9, "batch_tokens": 64}
    recipe = override(RECIPES["small"], [f"training.{name}={value}" for name, value in changes.items()])
    recipe = override(recipe, ["model.character_filters=0"])
    (tmp_path / "corpus.tsv").write_text("the\tD\ndog\tN\n\ndo\tV\nsee\tV\n\n" * 4)
    corpus = SentenceReader(tmp_path / "corpus.tsv")
    tagger = task.train(recipe, corpus, corpus, tmp_path / "run", initial=encoder, log=lambda text: None)
    assert isinstance(tagger.model, Tagger)
    ids = np.array([[2, *encoder.tokenizer.encode([" the see"])[0], 3]])
    states = np.asarray(encoder.model({"token_ids": ids}))[0, 1:3]
    head = tagger.model.head
    logits = states @ np.asarray(head.kernel) + np.asarray(head.bias)
    (found,) = tagger.probabilities([["the", "see"]])
    np.testing.assert_allclose(found, ref.softmax(logits / tagger.temperature), atol=1e-4)


@pytest.mark.slow
def test_exported_encoders_embed_alike(tmp_path):
    """`export` itself compares the embeddings of test texts."""
    pytest.importorskip("tensorflow_text", reason="tensorflow-text is not installed")
    encoder = load_roberta(write(tmp_path / "a"))
    assert encoder.export(tmp_path / "served")["task"] == "encoder"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"hidden_act": "tanh"}, "hidden_act of relu or gelu"),
        ({"is_decoder": True}, "is_decoder of False"),
        ({"pad_token_id": None}, "a whole number as pad_token_id"),
        ({"eos_token_id": V + 7}, f"which token is end: {V + 7}"),
        ({"vocab_size": V - 1}, f"for a model of {V - 1}"),
        ({"type_vocab_size": 2}, r"'embeddings.token_type_embeddings.weight' must have shape \(2, 12\)"),
        ({"max_position_embeddings": 2**40}, "position_embeddings.weight' must have shape"),
        ({"num_hidden_layers": 2**40}, "intermediate.dense.weight' must have shape .* Received: none"),
    ],
)
def test_other_models_are_refused(tmp_path, config, message):
    with pytest.raises(ValueError, match=message):
        zoo.load(write(tmp_path / "a", **config))


def test_arrays_of_other_models_are_named(tmp_path):
    arrays = random_arrays() | {"encoder.layer.0.adapter.weight": np.zeros((D, D), "float32")}
    with pytest.raises(ValueError, match="do not have: 'encoder.layer.0.adapter.weight'"):
        zoo.load(write(tmp_path / "a", arrays))
