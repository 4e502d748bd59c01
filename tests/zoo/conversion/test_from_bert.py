"""BERT from a folder computes the equations of its paper; incomplete or unknown files are refused."""

import json

import numpy as np
import pytest
import safetensors.numpy
from bert_arrays import BLOCKS, CONFIG, DISTILBERT, PIECES, POSITIONS, D, F, N, V, bert, random_arrays

import zoo
from zoo.classification import task
from zoo.classification.data import open_examples
from zoo.classification.recipes import SMALL
from zoo.config_values import override
from zoo.conversion.from_bert import load_bert


def write(folder, arrays=None, **config):
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG | config))
    (folder / "vocab.txt").write_text("\n".join(PIECES), "utf-8")
    safetensors.numpy.save_file(random_arrays() if arrays is None else arrays, folder / "model.safetensors")
    return folder


@pytest.mark.parametrize(("prefix", "epsilon"), [("", 1e-12), ("bert.", 0.1)])
def test_hidden_states_follow_the_paper(tmp_path, prefix, epsilon):
    arrays = random_arrays()
    named = {prefix + name: array for name, array in arrays.items()}
    encoder = load_bert(write(tmp_path / "a", named, layer_norm_eps=epsilon))
    rng = np.random.default_rng(1)
    ids, segments = rng.integers(1, V, (3, 7)), rng.integers(0, 2, (3, 7))
    mask = np.arange(7) < np.array([[7], [4], [1]])
    ids = ids * mask
    found = np.asarray(encoder.model({"token_ids": ids, "segment_ids": segments}))
    expected = bert({name: array.astype("float64") for name, array in arrays.items()}, ids, segments, mask, epsilon)
    np.testing.assert_allclose(found[mask], expected[mask], atol=2e-5)
    alone = np.asarray(encoder.model({"token_ids": ids}))
    np.testing.assert_allclose(alone[mask], bert(arrays, ids, 0 * segments, mask, epsilon)[mask], atol=2e-5)


def test_distilbert_is_bert_without_segments(tmp_path):
    arrays = random_arrays()
    arrays["embeddings.token_type_embeddings.weight"] *= 0
    named = {"vocab_projector.bias": np.zeros(V, "float32"), "vocab_layer_norm.weight": np.ones(D, "float32")}
    for name, array in arrays.items():
        *front, kind = name.split(".")
        if front[0] == "encoder":
            layer = DISTILBERT[".".join(front[3:])]
            named[f"distilbert.transformer.layer.{front[2]}.{layer}.{kind}"] = array
        elif "token_type" not in name and front[0] != "pooler":
            named[f"distilbert.{name}"] = array
    folder = write(tmp_path / "a", named)
    config = {
        "model_type": "distilbert",
        "activation": "gelu",
        "vocab_size": V,
        "n_layers": BLOCKS,
        "dim": D,
        "hidden_dim": F,
        "n_heads": N,
        "dropout": 0.1,
        "attention_dropout": 0.1,
        "max_position_embeddings": POSITIONS,
    }
    (folder / "config.json").write_text(json.dumps(config))
    encoder = zoo.load(folder)
    ids = np.array([[2, 5, 9, 3, 0], [2, 7, 7, 8, 3]])
    found = np.asarray(encoder.model({"token_ids": ids}))
    np.testing.assert_allclose(found[ids > 0], bert(arrays, ids, 0 * ids, ids > 0)[ids > 0], atol=2e-5)
    del config["n_heads"]
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="a positive whole number as n_heads. Received: None"):
        zoo.load(folder)


@pytest.mark.slow
def test_embeddings_are_means_of_length_one(tmp_path):
    arrays = random_arrays()
    encoder = load_bert(write(tmp_path / "a", arrays))
    texts = ["a b c", "", "q", "a b c d e f g h i j k l m"]
    found = encoder.embed(texts, batch_tokens=12)
    for text, embedding in zip(texts, found, strict=True):
        ids = np.array([[2, *encoder.tokenizer.encode([text])[0][: POSITIONS - 2], 3]])
        mean = bert(arrays, ids, np.zeros_like(ids), ids > 0)[0].mean(0)
        np.testing.assert_allclose(embedding, mean / np.linalg.norm(mean), atol=1e-5)
    assert encoder.embed([]).shape == (0, D)


def test_rows_without_a_piece_are_left_out(tmp_path):
    arrays = random_arrays()
    table = arrays["embeddings.word_embeddings.weight"]
    arrays["embeddings.word_embeddings.weight"] = np.concatenate([table, table[:2]])
    encoder = load_bert(write(tmp_path / "a", arrays, vocab_size=V + 2))
    assert encoder.model.config.vocabulary_size == V
    np.testing.assert_array_equal(np.asarray(encoder.model.text_encoder.embedding.embeddings), table)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda a: a.pop("encoder.layer.1.output.dense.bias"),
            r"Missing arrays: .*block_1/feed_forward/output_dense/bias",
        ),
        (lambda a: a.update({"encoder.layer.0.crossattention.x": a["pooler.dense.weight"]}), r"'encoder.layer.0.cross"),
        (lambda a: a.update({"lm_head.weight": a["pooler.dense.weight"]}), r"do not have: 'lm_head.weight'"),
        (lambda a: a.update({"encoder.layer.0.output.dense.bias": np.zeros(3, "float32")}), r"must have shape \(12,\)"),
        (lambda a: a.update({"embeddings.word_embeddings.weight": np.zeros((V, 4), "float32")}), r"must have shape"),
    ],
)
def test_arrays_that_do_not_fit_are_named(tmp_path, change, message):
    arrays = random_arrays()
    change(arrays)
    with pytest.raises(ValueError, match=message):
        load_bert(write(tmp_path / "a", arrays))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"model_type": "roberta"}, "model_type of bert or distilbert. Received: model_type='roberta'"),
        ({"hidden_act": "tanh"}, "hidden_act of relu or gelu or .* or None. Received: hidden_act='tanh'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type of absolute"),
        ({"is_decoder": True}, "is_decoder of False"),
        ({"vocab_size": 20}, "vocabulary of 23 pieces for a model of 20"),
        ({"vocab_size": 2**40}, r"word_embeddings.weight' must have shape \(1099511627776, 12\)"),
        ({"num_hidden_layers": 2**40}, "intermediate.dense.weight' must have shape .* Received: none"),
        ({"intermediate_size": 2**40}, "intermediate.dense.weight' must have shape"),
        ({"max_position_embeddings": 2**40}, "position_embeddings.weight' must have shape"),
        ({"type_vocab_size": 2**40}, "token_type_embeddings.weight' must have shape"),
    ],
)
def test_other_architectures_are_refused(tmp_path, config, message):
    with pytest.raises(ValueError, match=message):
        load_bert(write(tmp_path / "a", **config))


def test_missing_damaged_and_pickled_files(tmp_path):
    with pytest.raises(ValueError, match=r"no config.json"):
        load_bert(tmp_path)
    folder = write(tmp_path / "a")
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match="model.safetensors is damaged"):
        load_bert(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(ValueError, match="neither model.safetensors nor pytorch_model.bin"):
        load_bert(folder)
    (folder / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(ValueError, match="pytorch_model.bin is damaged"):
        load_bert(folder)


@pytest.mark.slow
def test_fine_tuning_starts_from_the_hidden_states(tmp_path):
    """After one step at a tiny learning rate, the encoder still equals the BERT and is saved with its word pieces."""
    encoder = load_bert(write(tmp_path / "a"))
    (tmp_path / "corpus.tsv").write_text("x\ta b c\ny\td e f g h i j k l m n\n" * 8, "utf-8")
    corpus = open_examples(tmp_path / "corpus.tsv")
    changes = ["training.steps=1", "training.cooldown_steps=0", "training.evaluate_every=1"]
    recipe = override(SMALL, [*changes, "training.peak_learning_rate=1e-12"])
    tuned = task.train(recipe, corpus, corpus, tmp_path / "run", initial=encoder, log=lambda text: None)
    assert tuned.max_tokens == POSITIONS and tuned.model.config.hidden_dim == D
    ids = {"token_ids": np.array([[2, 5, 6, 3]])}
    states = [np.asarray(model.text_encoder(ids)[0]) for model in (tuned.model, encoder.model)]
    np.testing.assert_allclose(*states, atol=1e-5)
    loaded = zoo.load(tmp_path / "run" / "checkpoint")
    assert loaded.tokenizer.digest == encoder.tokenizer.digest
    assert loaded.classify(["a b"]) == tuned.classify(["a b"])
