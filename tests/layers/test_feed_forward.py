"""Tests of the position-wise feed-forward layer."""

import layer_checks as checks
import numpy as np
import pytest
import reference as ref

from keras_transformer import FeedForward

B, T, D, F = 3, 5, 11, 13
X = checks.array(B, T, D)


def ready(**kwargs):
    layer = FeedForward(F, **kwargs)
    layer.build((B, T, D))
    return checks.randomize(layer)


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh"])
def test_equals_numpy(activation):
    layer = ready(activation=activation)
    expected = ref.feed_forward(X, ref.weights_of(layer), getattr(ref, activation))
    np.testing.assert_allclose(checks.numpy(layer(X)), expected, atol=1e-5)


def test_dropout_applies_to_inner_activations_in_training_only():
    layer = ready(dropout=0.5)
    weights = ref.weights_of(layer)
    np.testing.assert_allclose(checks.numpy(layer(X)), ref.feed_forward(X, weights), atol=1e-5)
    inner = ref.relu(ref.dense(X, ref.part(weights, "inner_dense")))
    change = checks.numpy(layer(X, training=True)) - ref.dense(inner, ref.part(weights, "output_dense"))
    # With fewer active units than the D outputs, least squares recovers the change of each unit.
    kernel = weights["output_dense/kernel"]
    for row, units in zip(change.reshape(-1, D), inner.reshape(-1, F)):
        active = np.flatnonzero(units)
        if len(active) < D:
            done = np.linalg.lstsq(kernel[active].T, row, rcond=None)[0] / units[active]
            np.testing.assert_allclose(np.abs(done), 1.0, atol=1e-2)  # Dropped (-1) or doubled (+1).


def test_keeps_the_mask():
    mask = checks.lengths_mask((5, 3, 1), T)
    np.testing.assert_array_equal(checks.mask_of(ready()(checks.with_mask(X, mask))), mask)


def test_layer_rules(tmp_path):
    checks.check_layer(lambda **k: FeedForward(F, "gelu", dropout=0.1, **k), X)
    checks.check_layer(lambda **k: FeedForward(F, "gelu_tanh", **k), X)
    checks.check_saving(lambda **k: FeedForward(F, "gelu_tanh", **k), X, folder=tmp_path)


@pytest.mark.parametrize("size", [0, -3, 1.5, None])
def test_invalid_sizes_raise(size):
    with pytest.raises(ValueError, match=f"`intermediate_dim` must be a positive integer. Received: .*={size}"):
        FeedForward(size)


def test_unknown_width_raises():
    with pytest.raises(ValueError, match=r"known width. Received: inputs_shape=\(3, 5, None\)"):
        FeedForward(F).build((B, T, None))
