"""T5 from a folder computes its equations, from text to text, and unknown folders are refused."""

import json
import shutil

import keras
import numpy as np
import pytest
import safetensors.numpy
import t5_folder as t5

import zoo
from zoo.__main__ import main
from zoo.conversion.from_t5 import load_t5
from zoo.conversion.hugging_face import load_folder
from zoo.conversion.to_ctranslate2 import write_ctranslate2

TEXTS = ["The dog sees the road 3 times.", "A cat, 47 trees!", "", "The <extra_id_0> paints  <extra_id_3> house é"]
PREFIX = "translate The: "


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("t5")
    t5.write_t5(path / "t5")
    t5.write_t5(path / "t5.1.1", gated=True)
    return path


def published_ids(text):
    """Encodes a text with sentinels between spaces as T5 does."""
    last, ids = t5.PROCESSOR.vocab_size() + t5.SENTINELS - 1, []
    for i, part in enumerate(text.replace("<extra_id_", ">").split(">")):
        ids += [last - int(part)] if i % 2 else t5.PROCESSOR.encode(part)
    return ids


@pytest.mark.parametrize("prefix", ["", PREFIX])
def test_ids_are_those_of_sentencepiece_and_the_sentinels(folder, prefix):
    tokenizer = load_t5(folder / "t5", prefix).tokenizer
    for text, ids, target in zip(TEXTS, tokenizer.encode(TEXTS), tokenizer.encode_targets(TEXTS)):
        assert tokenizer.rows[ids].tolist() == published_ids(prefix + text)
        assert tokenizer.rows[target].tolist() == published_ids(text)
    assert tokenizer.rows[:4].tolist() == [0, 2, 0, 1]
    assert len(tokenizer.pieces) == t5.ROWS - t5.UNUSED_ROWS + 1  # The start and the padding have the same row.
    expected = "The<extra_id_0> paints<extra_id_3> house"  # Sentinels have no space before them; é is unknown.
    assert tokenizer.decode(tokenizer.encode_targets(TEXTS))[-1] == expected
    assert tokenizer.encode(["</s>"]) != [[3]]


@pytest.mark.parametrize("name", ["t5", "t5.1.1"])
def test_logits_follow_the_paper(folder, name):
    """Also over more steps than have a bucket of their own."""
    translator = load_t5(folder / name)
    rows = translator.tokenizer.rows
    arrays = safetensors.numpy.load_file(folder / name / "model.safetensors")
    for source, target in zip(
        [*TEXTS, " ".join(TEXTS * 4)], ["Der Hund sieht 3 Mal.", "", "Turm", "Weg", TEXTS[0] * 5]
    ):
        (source_ids,), (target_ids,) = translator.tokenizer.encode([source]), translator.tokenizer.encode([target])
        inputs = {"source": np.array([[*source_ids, 3, 0, 0]]), "target": np.array([[2, *target_ids]])}
        expected, memory = t5.t5_logits(arrays, [*rows[source_ids], 1], [0, *rows[target_ids]])
        encoded = np.asarray(translator.model.encode(inputs["source"]))[0, :-2]
        np.testing.assert_allclose(encoded, memory, atol=2e-4)
        np.testing.assert_allclose(np.asarray(translator.model(inputs))[0], expected[:, rows], atol=5e-4)
    assert len(source_ids) > 100 and len(target_ids) > 30


@pytest.mark.parametrize("name", ["t5", "t5.1.1"])
def test_greedy_search_follows_the_equations(folder, name):
    translator = load_t5(folder / name)
    translator.max_repeats = 0
    rows = translator.tokenizer.rows
    arrays = safetensors.numpy.load_file(folder / name / "model.safetensors")
    source = translator.tokenizer.encode(TEXTS[:1])[0]
    found = np.asarray(translator.search(beam_size=1)(np.array([[*source, 3]], "int32"), np.array([25], "int32")).ids)
    ids = [2]
    while len(ids) < 25 and ids[-1] != 3:
        logits = t5.t5_logits(arrays, [*rows[source], 1], rows[ids])[0][-1][rows]
        logits[[0, 2]] = -np.inf
        ids.append(int(np.argmax(logits)))
    expected = [i for i in ids[1:] if i != 3]
    assert expected and found[0, 0, : len(expected)].tolist() == expected


def test_convert_writes_a_checkpoint_that_answers_alike(folder, tmp_path):
    output = str(tmp_path / "b")
    assert main(["convert", str(folder / "t5.1.1"), "--prefix", PREFIX, "--output", output]) == 0
    loaded, direct = zoo.load(output), load_folder(folder / "t5.1.1", prefix=PREFIX)
    inputs = {"source": np.array([[5, 6, 7, 3]]), "target": np.array([[2, 8, 9]])}
    np.testing.assert_array_equal(*(np.asarray(translator.model(inputs)) for translator in (loaded, direct)))
    assert any(loaded.translate(TEXTS, beam_size=1))
    assert loaded.tokenizer.digest == direct.tokenizer.digest and loaded.tokenizer.prefix == PREFIX
    assert (loaded.beam_size, loaded.split_sentences, loaded.max_source_tokens) == (3, False, 512)
    assert loaded.card["name"] == "t5.1.1"
    words = loaded.align(TEXTS[:1], ["Der Hund"])[0]
    assert words.source_words == TEXTS[0].split() and words.weights.shape == (2, 7)
    plain = zoo.load(folder / "t5.1.1")
    assert plain.tokenizer.encode([PREFIX + text for text in TEXTS]) == loaded.tokenizer.encode(TEXTS)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="SavedModels are for TensorFlow")
def test_ids_in_a_graph_are_the_same(folder):
    import tensorflow as tf

    from zoo.tf.piece_tokenizer import GraphPieceTokenizer

    tokenizer = load_t5(folder / "t5", PREFIX).tokenizer
    found, texts = GraphPieceTokenizer(tokenizer), [*TEXTS, "<extra_id_0><extra_id_1>", "x<extra_id_9>y", " <unk></s>"]
    assert tf.function(found.encode)(tf.constant(texts)).to_list() == tokenizer.encode(texts)
    targets = found.encode_targets(tf.constant(texts))
    assert targets.to_list() == tokenizer.encode_targets(texts)
    assert [text.decode() for text in found.decode(targets).numpy()] == tokenizer.decode(targets.to_list())
    for rows in (found.encode(tf.constant(texts)), targets):
        for ids, numbers in zip(rows.to_list(), found.word_numbers(rows).to_list()):
            expected = [-1] * len(ids)
            for word, (first, last) in enumerate(tokenizer.words(ids)[1]):
                expected[first:last] = [word] * (last - first)
            assert numbers == expected


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="SavedModels are for TensorFlow")
def test_exports_from_text_to_text(folder, tmp_path):
    """`export` itself compares the translations of test inputs."""
    import tensorflow as tf

    translator = load_t5(folder / "t5", PREFIX)
    translator.max_extra_tokens = 5
    translator.export(tmp_path / "served", beam_size=1)
    found = tf.saved_model.load(str(tmp_path / "served")).signatures["serving_default"](tf.constant(TEXTS))
    translations = [text.decode() for text in found["translations"].numpy()]
    assert translations == translator.translate(TEXTS, beam_size=1)


@pytest.mark.slow
@pytest.mark.long
def test_fine_tuning_starts_from_the_logits(folder, tmp_path):
    from zoo.config_values import override
    from zoo.translation import task
    from zoo.translation.recipes import TINY

    initial = load_t5(folder / "t5.1.1", PREFIX)
    changes = ["steps=1", "cooldown_steps=0", "evaluate_every=1", "peak_learning_rate=1e-12"]
    recipe = override(TINY, [f"training.{change}" for change in changes])
    pairs = [*zip(t5.marian.SOURCES[:8], t5.marian.TARGETS)]
    tuned = task.train(recipe, pairs, pairs[:4], tmp_path / "run", initial=initial, log=lambda text: None)
    inputs = {"source": np.array([[5, 6, 7, 3]]), "target": np.array([[2, 8, 9]])}
    np.testing.assert_allclose(*(np.asarray(found.model(inputs)) for found in (tuned, initial)), atol=1e-4)
    loaded = zoo.load(tmp_path / "run")
    assert loaded.tokenizer.prefix == PREFIX
    assert (loaded.split_sentences, loaded.max_source_tokens) == (False, 256)  # `training.max_tokens` limits it.


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"model_type": "umt5"}, "model_type of .*mt5 or t5.*Received: 'umt5'"),
        ({"model_type": "longt5"}, "Received: 'longt5'"),
        ({"feed_forward_proj": "gated-silu"}, "a T5 with feed_forward_proj of relu or gated-gelu .*='gated-silu'"),
        ({"dense_act_fn": "gelu"}, "dense_act_fn='gelu'"),
        ({"tie_word_embeddings": False}, "a T5 with relu with tie_word_embeddings of True"),
        ({"relative_attention_num_buckets": 16}, "relative_attention_num_buckets=16"),
        ({"relative_attention_max_distance": 64}, "relative_attention_max_distance=64"),
        ({"decoder_start_token_id": 5}, "decoder_start_token_id=5"),
        ({"is_encoder_decoder": False}, "is_encoder_decoder=False"),
        ({"d_model": None}, "must have a positive whole number as d_model. Received: None"),
        ({"d_kv": 0}, "positive whole number as d_kv. Received: 0"),
        ({"d_model": 10}, r"'shared.weight' must have shape \(\d+, 10\)"),
        ({"d_kv": 6, "num_heads": 2}, "relative_attention_bias.weight' must have shape .32, 2.. Received: .32, 3."),
        ({"d_kv": 2**40}, "SelfAttention.q.weight' must have shape"),
        ({"d_ff": 2**40}, "DenseReluDense.wi.weight' must have shape"),
        ({"num_layers": 2**40}, "encoder.block.1099511627775.layer.0.* must have shape .* Received: none"),
        ({"num_decoder_layers": 3}, "decoder.block.2.layer.0"),
        ({"vocab_size": 9}, "a vocabulary of .* sentinels included, for a model of 9"),
        ({"feed_forward_proj": "gated-gelu"}, "DenseReluDense.wi_0.weight' must have shape .* Received: none"),
    ],
)
def test_other_models_are_refused(tmp_path, config, message):
    t5.write_t5(tmp_path / "a", **config)
    with pytest.raises(ValueError, match=message):
        zoo.load(tmp_path / "a")


ROW = np.ones((t5.ROWS, t5.D), "float32")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"decoder.block.0.layer.1.EncDecAttention.k.weight": None},
            "Missing arrays: decoder/block_0/cross_attention/k",
        ),
        ({"encoder.block.0.layer.0.gate.weight": ROW}, "this T5 does not have: 'encoder.block.0.layer.0.gate.weight'"),
        ({"encoder.block.0.layer.0.SelfAttention.q.bias": ROW}, "does not have: '.*q.bias'"),
        ({"lm_head.weight": ROW}, "output matrix of its own, 'lm_head.weight'"),
        ({"lm_head.weight": ROW[1:]}, "'lm_head.weight' must have shape"),
        ({"encoder.final_layer_norm.weight": ROW[0, 1:]}, "'encoder/norm/scale' must have shape"),
    ],
)
def test_arrays_that_do_not_fit_are_named(tmp_path, change, message):
    arrays = {name: array for name, array in {**t5.random_arrays(), **change}.items() if array is not None}
    t5.write_t5(tmp_path / "a", arrays=arrays)
    with pytest.raises(ValueError, match=message):
        zoo.load(tmp_path / "a")


def test_copies_of_the_table_and_unread_tables_are_ignored(folder, tmp_path):
    arrays = t5.random_arrays()
    arrays |= {name: arrays["shared.weight"] for name in ("lm_head.weight", "encoder.embed_tokens.weight")}
    arrays["decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"] = np.ones((32, t5.N), "float32")
    t5.write_t5(tmp_path / "a", arrays=arrays)
    inputs = {"source": np.array([[5, 6, 7, 3]]), "target": np.array([[2, 8, 9]])}
    found, expected = (np.asarray(load_t5(path).model(inputs)) for path in (tmp_path / "a", folder / "t5"))
    np.testing.assert_array_equal(found, expected)


def test_gated_models_may_share_the_table_and_scale_logits(tmp_path):
    """As transformers from version 5 on writes them, and as mT5 is read there."""
    arrays = t5.random_arrays(gated=True)
    del arrays["lm_head.weight"]
    scales = {}
    for name, config in {
        "scaled": {"tie_word_embeddings": True},
        "tied": {"tie_word_embeddings": True, "scale_decoder_outputs": False},
        "mt5": {"model_type": "mt5", "tie_word_embeddings": True, "feed_forward_proj": None},
    }.items():
        t5.write_t5(tmp_path / name, gated=True, arrays=arrays, **config)
        model = load_folder(tmp_path / name).model
        tables = (np.asarray(table.embeddings) for table in (model.output_embedding, model.embedding))
        scales[name] = np.divide(*tables)
    for name, scale in {"scaled": 1, "tied": t5.D**0.5, "mt5": t5.D**0.5}.items():
        np.testing.assert_allclose(scales[name], scale, rtol=1e-5)


def test_ctranslate2_is_refused(folder, tmp_path):
    pytest.importorskip("ctranslate2")
    with pytest.raises(ValueError, match="sinusoids and layer normalization. Received: model.architecture='t5'"):
        write_ctranslate2(load_t5(folder / "t5"), tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_missing_and_foreign_files_are_named(folder, tmp_path):
    for name in ("spiece.model", "model.safetensors"):
        shutil.copytree(folder / "t5", tmp_path / name)
        (tmp_path / name / name).unlink()
        with pytest.raises(ValueError, match=f"no {name}|neither {name}"):
            zoo.load(tmp_path / name)
    other = tmp_path / "spiece.model"
    (other / "tokenizer.json").write_text("{}")
    with pytest.raises(ValueError, match="no spiece.model. A tokenizer.json alone is not enough. Fetch"):
        zoo.load(other)
    (other / "spiece.model").write_text("nonsense")
    with pytest.raises(ValueError, match="vocabulary must be a sentencepiece model"):
        zoo.load(other)
    (other / "spiece.model").write_bytes(t5.sentencepiece_model(unk_id=0, pad_id=3, eos_id=1))
    with pytest.raises(ValueError, match="2 for unknown. Received: 3, 1, 0"):
        zoo.load(other)
    (other / "spiece.model").write_bytes(t5.MODEL)
    (other / "added_tokens.json").write_text(json.dumps({"<sep>": 9}))
    with pytest.raises(ValueError, match="neither in spiece.model nor a sentinel: '<sep>'"):
        zoo.load(other)
    (other / "tokenizer_config.json").write_text('{"extra_ids": "5"}')
    with pytest.raises(ValueError, match="whole number from 0 on as extra_ids. Received: '5'"):
        zoo.load(other)
    with pytest.raises(ValueError, match="A t5 model has no `target_language`. Received: 'fra'"):
        load_folder(folder / "t5", target_language="fra")
