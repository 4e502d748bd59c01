"""Marian translators from a folder compute their equations, from text to text, and unknown folders are refused."""

import json
import shutil

import keras
import marian_folder as marian
import numpy as np
import pytest
import safetensors.numpy
import sentencepiece

import zoo
from zoo.__main__ import main
from zoo.conversion.from_marian import load_marian
from zoo.conversion.hugging_face import load_folder

TEXTS = ["The dog sees the road 3 times.", "A cat, 47 trees!", "", "The lake paints the house  é"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("marian")
    marian.write_marian(path / "one")
    marian.write_marian(path / "many", languages=("fra", "ita"))
    return path


def published_ids(folder, text, side):
    """Encodes a text as Marian does: pieces of the side's model, looked up in the joint vocabulary."""
    vocabulary = json.loads((folder / "vocab.json").read_text())
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{side}.spm"))
    return [vocabulary.get(piece, 1) for piece in model.encode(text, out_type=str)]


def rows_of(folder, tokenizer):
    """Returns the published row of each of our ids."""
    vocabulary = json.loads((folder / "vocab.json").read_text())
    return np.array([vocabulary.get(piece, vocabulary["<pad>"]) for piece in tokenizer.pieces])


@pytest.mark.parametrize(("name", "language"), [("one", None), ("many", "ita")])
def test_ids_and_logits_follow_the_paper(folder, name, language):
    translator = load_marian(folder / name, target_language=language)
    tokenizer, rows = translator.tokenizer, rows_of(folder / name, translator.tokenizer)
    prefix = [json.loads((folder / name / "vocab.json").read_text())[">>ita<<"]] if language else []
    arrays = safetensors.numpy.load_file(folder / name / "model.safetensors")
    for source, target in zip(TEXTS, ["Der Hund sieht 3 Mal.", "Wie?", "Turm", ""]):
        (source_ids,), (target_ids,) = tokenizer.encode([source]), tokenizer.encode_targets([target])
        assert rows[source_ids].tolist() == prefix + published_ids(folder / name, source, "source")
        assert rows[target_ids].tolist() == published_ids(folder / name, target, "target")
        inputs = {"source": np.array([[*source_ids, 3, 0, 0]]), "target": np.array([[2, *target_ids]])}
        found = np.asarray(translator.model(inputs))[0]
        expected = marian.marian_logits(arrays, [*rows[source_ids], 0], [len(rows) - 2, *rows[target_ids]])
        real = np.arange(len(rows)) != 2  # The start, which is never predicted.
        np.testing.assert_allclose(found[:, real], expected[:, rows[real]], atol=2e-4)
        assert (found[:, 2] < -1000).all()


def test_greedy_search_follows_the_equations(folder):
    translator = load_marian(folder / "one")
    translator.max_repeats = 0
    rows = rows_of(folder / "one", translator.tokenizer)
    arrays = safetensors.numpy.load_file(folder / "one" / "model.safetensors")
    source = translator.tokenizer.encode(TEXTS[:1])[0]
    found = np.asarray(translator.search(beam_size=1)(np.array([[*source, 3]], "int32"), np.array([6], "int32")).ids)
    ids = [2]
    while len(ids) < 6 and ids[-1] != 3:
        logits = marian.marian_logits(arrays, [*rows[source], 0], rows[ids])[-1][rows]
        logits[[0, 2]] = -np.inf
        ids.append(int(np.argmax(logits)))
    expected = [i for i in ids[1:] if i != 3]
    assert found[0, 0, : len(expected)].tolist() == expected


@pytest.mark.slow
def test_convert_writes_a_checkpoint_that_answers_alike(folder, tmp_path, capsys):
    arguments = ["convert", str(folder / "many"), "--output", str(tmp_path / "fra")]
    assert main(arguments) == 2
    assert "`target_language` must be one of fra, ita. Received: None" in capsys.readouterr().err
    assert main([*arguments, "--target-language", "fra"]) == 0
    loaded, direct = zoo.load(tmp_path / "fra"), load_marian(folder / "many", target_language="fra")
    loaded.max_extra_tokens = direct.max_extra_tokens = 5
    assert loaded.translate(TEXTS) == direct.translate(TEXTS)
    pairs = [*zip(marian.SOURCES[:5], marian.TARGETS)]
    assert loaded.loss(pairs) == pytest.approx(direct.loss(pairs), rel=1e-5)
    assert loaded.loss(pairs) != pytest.approx(
        load_marian(folder / "many", target_language="ita").loss(pairs), rel=1e-3
    )
    assert (loaded.beam_size, loaded.card["source_language"], loaded.card["target_language"]) == (3, "eng", "fra")
    words = loaded.align(TEXTS[:1], ["Der Hund"])[0]
    assert words.source_words == TEXTS[0].split() and words.weights.shape == (2, 7)
    assert zoo.load(folder / "one").translate(TEXTS) == load_marian(folder / "one").translate(TEXTS)


@pytest.mark.slow
@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="SavedModels are for TensorFlow")
def test_exports_from_text_to_text(folder, tmp_path):
    """`export` itself compares the translations of test inputs."""
    import tensorflow as tf

    translator = load_marian(folder / "many", target_language="ita")
    translator.max_extra_tokens = 5
    translator.export(tmp_path / "served", beam_size=1, alignments=True)
    found = tf.saved_model.load(str(tmp_path / "served")).signatures["serving_default"](tf.constant(TEXTS))
    translations = [text.decode() for text in found["translations"].numpy()]
    assert translations == translator.translate(TEXTS, beam_size=1)
    links = translator.align(TEXTS, translations)
    assert [text.decode() for text in found["alignments"].numpy()] == [
        " ".join(f"{i}-{j}" for i, j in found.links) for found in links
    ]


@pytest.mark.slow
@pytest.mark.long
def test_fine_tuning_starts_from_the_logits(folder, tmp_path):
    from zoo.config_values import override
    from zoo.translation import task
    from zoo.translation.recipes import TINY

    initial = load_marian(folder / "one")
    changes = ["steps=1", "cooldown_steps=0", "evaluate_every=1", "peak_learning_rate=1e-12"]
    recipe = override(TINY, [f"training.{change}" for change in changes])
    pairs = [*zip(marian.SOURCES, marian.TARGETS)]
    tuned = task.train(recipe, pairs, pairs[:4], tmp_path / "run", initial=initial, log=lambda text: None)
    inputs = {"source": np.array([[5, 6, 7, 3]]), "target": np.array([[2, 8, 9]])}
    np.testing.assert_allclose(*(np.asarray(found.model(inputs)) for found in (tuned, initial)), atol=1e-4)
    assert zoo.load(tmp_path / "run").tokenizer.digest == initial.tokenizer.digest


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"model_type": "whisper"}, "model_type of bert or .*marian.*. Received: 'whisper'"),
        ({"activation_function": "tanh"}, "Received: activation_function='tanh'"),
        ({"normalize_before": True}, "normalize_before of False or None. Received: normalize_before=True"),
        ({"share_encoder_decoder_embeddings": False}, "share_encoder_decoder_embeddings"),
        ({"scale_embedding": False}, "scale_embedding"),
        ({"decoder_ffn_dim": 16}, "encoder_ffn_dim of 16. Received: encoder_ffn_dim=12"),
        ({"d_model": None}, "must have a positive whole number as d_model. Received: None"),
        ({"d_model": 10}, r"'model.shared.weight' must have shape \(\d+, 10\)"),
        ({"d_model": 2**40, "encoder_ffn_dim": 2**40, "decoder_ffn_dim": 2**40}, "'model.shared.weight' must have"),
        ({"encoder_ffn_dim": 2**40, "decoder_ffn_dim": 2**40}, "encoder.layers.1.fc1.weight' must have shape"),
        ({"decoder_layers": 2**40}, "decoder.layers.1099511627775.fc1.weight' must have shape .* Received: none"),
        ({"vocab_size": 9}, "ids from 0 to 9 - 1"),
        ({"pad_token_id": None}, "which token is pad"),
        ({"eos_token_id": 10_000}, "which token is end: 10000"),
        ({"encoder_layers": 3}, "encoder.layers.2.fc1.weight' must have shape"),
    ],
)
def test_other_models_are_refused(tmp_path, config, message):
    marian.write_marian(tmp_path / "a", **config)
    with pytest.raises(ValueError, match=message):
        zoo.load(tmp_path / "a")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.pop("model.encoder.layers.1.fc2.bias"), "Missing arrays: encoder/block_1/feed_forward"),
        (
            lambda a: a.update({"model.decoder.layers.0.gate.weight": a["model.shared.weight"]}),
            "'model.decoder.layers.0",
        ),
        (lambda a: a.update({"final_logits_bias": np.zeros((1, 3), "float32")}), "'final_logits_bias' must have shape"),
        (lambda a: a.update({"model.encoder.layers.0.fc1.weight": np.zeros((12, 9), "float32")}), "has the shape"),
        (lambda a: a.update({"model.encoder.layers.0.fc2.bias": np.zeros(9, "float32")}), r"has the shape \(9,\)"),
    ],
)
def test_arrays_that_do_not_fit_are_named(tmp_path, change, message):
    arrays = marian.random_arrays(len(marian.make_vocabulary()), np.random.default_rng(0))
    change(arrays)
    marian.write_marian(tmp_path / "a", arrays=arrays)
    with pytest.raises(ValueError, match=message):
        zoo.load(tmp_path / "a")


def test_missing_files_and_languages_are_named(folder, tmp_path):
    with pytest.raises(ValueError, match="`target_language` must be None, as the model has one target language"):
        load_marian(folder / "one", target_language="fra")
    for name in ("target.spm", "vocab.json", "model.safetensors"):
        shutil.copytree(folder / "one", tmp_path / name)
        (tmp_path / name / name).unlink()
        with pytest.raises(ValueError, match=f"no {name}|neither {name}"):
            zoo.load(tmp_path / name)
    (tmp_path / "vocab.json" / "vocab.json").write_text('{"a": "b"}')
    with pytest.raises(ValueError, match="ids from 0"):
        zoo.load(tmp_path / "vocab.json")
    (tmp_path / "target.spm" / "target.spm").write_text("nonsense")
    with pytest.raises(ValueError, match="target model must be a sentencepiece model"):
        zoo.load(tmp_path / "target.spm")
    whole = (tmp_path / "vocab.json" / "target.spm").read_bytes()
    sizes = [0]
    for _ in range(9):  # Ends of pieces: the second byte of each is how many follow.
        sizes.append(sizes[-1] + 2 + whole[sizes[-1] + 1])
    for size in sizes:
        (tmp_path / "target.spm" / "target.spm").write_bytes(whole[:size])
        with pytest.raises(
            ValueError, match=f"target model must be a sentencepiece model. Received: {size} bytes, wit"
        ):
            zoo.load(tmp_path / "target.spm")


def test_a_bert_has_no_target_language(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(ValueError, match="A bert model has no `target_language`. Received: 'fra'"):
        load_folder(tmp_path, target_language="fra")
