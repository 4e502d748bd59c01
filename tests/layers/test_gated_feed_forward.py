"""Tests of the gated feed-forward layer against NumPy, alone and in a block."""

import keras
import layer_checks as checks
import numpy as np
import pytest
import reference as ref

from keras_transformer import EncoderBlock, GatedFeedForward

B, T, D, F = 3, 5, 10, 13
X = checks.array(B, T, D)
ACTIVATIONS = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "linear": lambda x: x,
    "relu": ref.relu,
    "swish": lambda x: x / (1 + np.exp(-x)),
    "gelu_tanh": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
}


def gated(x, weights, activation):
    inner = ACTIVATIONS[activation](ref.dense(x, ref.part(weights, "inner_dense")))
    inner = inner * ref.dense(x, ref.part(weights, "gate_dense"))
    return ref.dense(inner, ref.part(weights, "output_dense"))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_equals_numpy(activation):
    layer = GatedFeedForward(F, activation)
    layer.build((B, T, D))
    checks.randomize(layer)
    np.testing.assert_allclose(checks.numpy(layer(X)), gated(X, ref.weights_of(layer), activation), atol=1e-5)


def test_layer_rules(tmp_path):
    checks.check_layer(lambda **k: GatedFeedForward(F, dropout=0.1, **k), X)
    checks.check_saving(lambda **k: GatedFeedForward(F, "gelu_tanh", use_bias=False, **k), X, folder=tmp_path)


def test_biases_can_be_left_out():
    layer = GatedFeedForward(F, "gelu_tanh", use_bias=False)
    layer.build((B, T, D))
    assert sorted(ref.weights_of(layer)) == [f"{name}_dense/kernel" for name in ("gate", "inner", "output")]
    np.testing.assert_allclose(checks.numpy(layer(X)), gated(X, ref.weights_of(layer), "gelu_tanh"), atol=1e-5)


def test_dropout_applies_to_gated_units():
    layer = GatedFeedForward(F, dropout=1 - 1e-6)
    layer.build((B, T, D))
    checks.randomize(layer)
    bias = ref.weights_of(layer)["output_dense/bias"]
    np.testing.assert_allclose(checks.numpy(layer(X, training=True)), np.broadcast_to(bias, X.shape), atol=1e-5)


def test_block_with_a_gate():
    class Block(EncoderBlock):
        def _make_feed_forward(self):
            return GatedFeedForward(self.intermediate_dim, dtype=self.dtype_policy, name="feed_forward")

    block = Block(2, F, normalize_first=True)
    block.build((B, T, D))
    checks.randomize(block)
    weights = ref.weights_of(block)
    attended = checks.numpy(block.self_attention(*[block.self_attention_residual.prepare(X)] * 2)) + X
    normalized = ref.layer_norm(attended, ref.part(weights, "feed_forward_residual/norm"))
    expected = attended + gated(normalized, ref.part(weights, "feed_forward"), "swish")
    np.testing.assert_allclose(checks.numpy(block(X)), expected, atol=1e-4)
    assert keras.activations.serialize(block.feed_forward.activation) == "silu"
