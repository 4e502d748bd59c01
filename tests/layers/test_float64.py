"""Layers in float64 compute in float64, forward and backward."""

import keras
import layer_checks as checks
import numpy as np
import pytest
from keras import ops

from keras_transformer import (
    AttentionPooling,
    EncoderBlock,
    LearnedPositionalEncoding,
    MultiHeadAttention,
    PositionalEncoding,
)
from keras_transformer.layers.dense import Dense

B, T, N, D = 3, 5, 2, 8
X = np.random.default_rng(0).normal(size=(B, T, D))

# JAX has no float64 by default, and Keras multiplies matrices of float64 in float32 on torch.
pytestmark = checks.tensorflow_only


def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def ready(layer, *shapes):
    layer.build(*shapes)
    for weight in layer.trainable_weights:
        weight.assign(0.3 * np.random.default_rng(1).normal(size=weight.shape) + (weight.name == "gamma"))
    return layer


@pytest.mark.parametrize("flash", [False, True])
def test_attention(flash):
    """Nothing is exact to more than 1e-8 in float32."""
    layer = ready(MultiHeadAttention(N, D // N, flash_attention=flash, dtype="float64"), X.shape, X.shape)
    query, key, value, output = (
        [ops.convert_to_numpy(w) for w in dense.weights]
        for dense in (layer.query_dense, layer.key_dense, layer.value_dense, layer.output_dense)
    )
    q, k, v = ((X @ w + b).reshape(B, T, N, -1).transpose(0, 2, 1, 3) for w, b in (query, key, value))
    weights = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(D / N))
    expected = (weights @ v).transpose(0, 2, 1, 3).reshape(B, T, D) @ output[0] + output[1]
    found = layer(ops.convert_to_tensor(X), ops.convert_to_tensor(X))
    assert keras.backend.standardize_dtype(found.dtype) == "float64"
    np.testing.assert_allclose(ops.convert_to_numpy(found), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "layer",
    [
        lambda **k: AttentionPooling(N, **k),
        lambda **k: PositionalEncoding(**k),
        lambda **k: LearnedPositionalEncoding(T, **k),
        lambda **k: Dense(4, activation="tanh", **k),
        lambda **k: EncoderBlock(N, 11, **k),
        lambda **k: EncoderBlock(N, 11, activation="tanh", normalize_first=True, **k),
    ],
)
def test_gradients_are_differences(layer):
    """A central difference has an error of about 1e-10 in float64; float32 anywhere would show as 1e-7."""
    layer = ready(layer(dtype="float64"), X.shape)
    x, direction, step = ops.convert_to_tensor(X), np.random.default_rng(2).normal(size=X.shape), 1e-5

    def value(x):
        return ops.sum(ops.sin(layer(x)))

    ahead, behind = (float(value(ops.convert_to_tensor(X + s * direction))) for s in (step, -step))
    slope = gradient(value, x)
    assert (slope * direction).sum() == pytest.approx((ahead - behind) / (2 * step), rel=2e-8, abs=2e-8)


def gradient(value, x):
    import tensorflow as tf

    with tf.GradientTape() as tape:
        tape.watch(x)
        found = value(x)
    return tape.gradient(found, x).numpy()
