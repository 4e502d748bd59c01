"""Checkpoints that are loaded to compute in another dtype."""

import keras
import numpy as np
import pytest

import zoo
from zoo.storage.arrays import named_arrays
from zoo.translation.__main__ import main


@pytest.mark.parametrize("name", ["labelling/masc-pos-small", "parsing/genia-small", "translation/multi30k-en-de"])
def test_layers_compute_in_it_and_weights_stay_float32(name):
    predictor = zoo.load(name, dtype="mixed_bfloat16")
    layers = [layer for layer in predictor.model._flatten_layers() if layer.weights]
    assert {layer.compute_dtype for layer in layers} == {"bfloat16"}
    assert {weight.dtype for weight in predictor.model.weights if weight.dtype != "int32"} == {"float32"}


def test_embeddings_are_those_of_float32_up_to_rounding():
    texts = ["A small cat sleeps.", "The stock market fell sharply.", "No."]
    exact, rounded = (zoo.load("encoder/minilm", dtype).embed(texts) for dtype in ("float32", "mixed_bfloat16"))
    errors = np.abs(rounded - exact)
    assert 0 < errors.max() < 2**-6, "bfloat16 has 8 significant bits, and these numbers are below 0.25"


def test_translator_computes_in_it_and_saves_the_same_weights(trained, corpus, tmp_path):
    checkpoint = trained.folder / "checkpoint"
    exact, rounded = (zoo.load(checkpoint, dtype) for dtype in ("float32", "mixed_bfloat16"))
    difference = abs(rounded.loss(corpus.test) - exact.loss(corpus.test))
    assert 0 < difference < 0.02
    sources = [source for source, _ in corpus.test]
    assert rounded.translate(sources) == exact.translate(sources), "This translator is sure of each word."
    rounded.save(tmp_path / "saved")
    saved = named_arrays(zoo.load(tmp_path / "saved").model)
    assert all(np.array_equal(array, saved[name]) for name, array in named_arrays(exact.model).items())


def test_default_is_the_policy_of_keras(trained):
    policy = keras.config.dtype_policy()
    try:
        keras.config.set_dtype_policy("mixed_bfloat16")
        assert zoo.load(trained.folder / "checkpoint").model.compute_dtype == "bfloat16"
        assert zoo.load(trained.folder / "checkpoint", "float32").model.compute_dtype == "float32"
    finally:
        keras.config.set_dtype_policy(policy)


@pytest.mark.parametrize("dtype", ["bfloat16", "int8", "", 16])
def test_other_dtypes_are_an_error(dtype):
    with pytest.raises(ValueError, match=r"`dtype` must be one of float32, mixed_bfloat16, .*Received: dtype="):
        zoo.load("translation/multi30k-en-de", dtype)


def test_command_line(trained, corpus, capsys):
    arguments = ["translate", "--checkpoint", str(trained.folder / "checkpoint"), "--dtype", "mixed_bfloat16"]
    assert main([*arguments, "--text", corpus.test[0][0]]) == 0
    assert capsys.readouterr().out == zoo.load(trained.folder / "checkpoint").translate([corpus.test[0][0]])[0] + "\n"
    assert main(["export", *arguments[1:], "--format", "ctranslate2", "--output", "unused"]) == 2
    assert "Received: --dtype." in capsys.readouterr().err
