"""Tests of eight-bit weights: rounding errors and saved files."""

import gc

import keras
import layer_checks as checks
import numpy as np
import pytest
from keras import ops

from keras_transformer import Encoder, LearnedPositionalEncoding, TokenEmbedding
from keras_transformer.layers.dense import Dense

V, D, N, F, IN, OUT = 31, 14, 2, 23, 11, 5
# Keras says of every layer without weights to quantise that it leaves it alone.
pytestmark = pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method")
IDS = np.random.default_rng(0).integers(0, V, (3, 7)).astype("int32")


def encoder():
    ids = keras.Input((None,), dtype="int32")
    x = LearnedPositionalEncoding(9)(TokenEmbedding(V, D)(ids))
    return checks.randomize(keras.Model(ids, Encoder(1, N, F, normalize_first=True)(x)))


def rounded(x, axis):
    """Rounds to 127 steps on either side of zero, scaled by the largest number along an axis."""
    scale = np.abs(x).max(axis=axis, keepdims=True) / 127
    return np.round(x / scale) * scale


@pytest.mark.parametrize("activation", [None, "relu"])
def test_dense_multiplies_rounded_weights(activation):
    layer, x = Dense(OUT, activation=activation), checks.array(3, 7, IN)
    layer.build(x.shape)
    kernel, bias = (checks.numpy(weight) for weight in checks.randomize(layer).weights)
    layer.quantize("int8")
    assert "int8" in [weight.dtype for weight in layer.weights]
    expected = rounded(x, -1) @ rounded(kernel, 0) + bias
    expected = np.maximum(expected, 0) if activation else expected
    np.testing.assert_allclose(checks.numpy(layer(x)), expected, atol=1e-4)


@pytest.mark.parametrize("scale", [True, False])
def test_embedding_uses_rounded_rows(scale):
    layer, x = TokenEmbedding(V, D, scale=scale), checks.array(3, D)
    layer.build()
    table = checks.numpy(layer.embeddings)
    layer.quantize("int8")
    layer.quantize("int8")  # Again changes nothing.
    expected = rounded(table, 1)
    assert np.abs(expected - table).max() > 1e-4
    assert [str(weight.dtype) for weight in layer.weights] == ["int8", "float32"] and not layer.trainable_weights
    np.testing.assert_allclose(checks.numpy(layer(IDS)), expected[IDS] * (D**0.5 if scale else 1), atol=1e-5)
    np.testing.assert_allclose(checks.numpy(layer.logits(ops.convert_to_tensor(x))), x @ expected.T, atol=1e-5)


def test_rows_of_zeros_stay_zeros():
    layer = TokenEmbedding(V, D, embeddings_initializer="zeros")
    layer.build()
    layer.quantize("int8")
    assert not checks.numpy(layer(IDS)).any()


def test_quantised_model_loads_from_files(tmp_path):
    model = encoder()
    before = checks.numpy(model(IDS))
    model.quantize("int8")
    expected = checks.numpy(model(IDS))
    assert 1e-4 < np.abs(expected - before).max() < 0.2
    kernels = [weight for weight in model.weights if weight.name in ("kernel", "embeddings") and weight.shape[0] != 9]
    assert len(kernels) == 1 + 6 and all(weight.dtype == "int8" for weight in kernels)
    np.testing.assert_array_equal(checks.numpy(checks.reloaded(model, tmp_path)(IDS)), expected)
    # A model that is not quantised becomes so with the weights that it reads.
    model.save_weights(tmp_path / "model.weights.h5")
    again = encoder()
    again.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(checks.numpy(again(IDS)), expected)


def test_float_files_stay_float(tmp_path):
    model = encoder()
    model.save_weights(tmp_path / "model.weights.h5")
    again = encoder()
    again.load_weights(tmp_path / "model.weights.h5")
    assert not any(weight.dtype == "int8" for weight in again.weights)


def test_memory_is_not_searched_for_garbage(monkeypatch):
    """Keras does so for each variable that is deleted, which takes seconds for a model."""
    searches = []
    monkeypatch.setattr(gc, "collect", lambda *args: searches.append(args))
    model = encoder()
    model.quantize("int8")
    assert not searches and [weight.name for weight in model.layers[1].weights] == ["embeddings", "embeddings_scale"]


def test_other_modes_warn_and_change_nothing():
    model = keras.Sequential([keras.Input((IN,)), Dense(OUT)])
    with pytest.warns(UserWarning, match="Dense can be quantised to int8 only. Received: mode='float8'"):
        model.quantize("float8")
    assert model.layers[0].quantization_mode is None
