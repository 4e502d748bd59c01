"""Tests of batch normalisation: beside Keras's layer on the real cells, and the rules of all layers."""

import keras
import layer_checks as checks
import numpy as np
import pytest
from keras import ops

from keras_transformer import BatchNormalization

B, H, W, C = 3, 4, 5, 6
MASK = checks.lengths_mask((5, 2, 3), W)[:, None].repeat(H, axis=1)


def batch(seed):
    """Maps with another mean and deviation for each channel, and an upstream gradient."""
    x = checks.array(B, H, W, C, seed=seed) * np.linspace(0.5, 3, C) + np.linspace(-2, 2, C)
    return x.astype("float32"), checks.array(B, H, W, C, seed=100 + seed)


def ready(layer):
    layer.build((None, H, W, C))
    layer.gamma.assign(checks.array(C, seed=1) / 3 + 1)
    layer.beta.assign(checks.array(C, seed=2))
    return layer


def train_step(layer, x, upstream, **arguments):
    """Returns outputs and gradients by x, gamma and beta of a training step, which updates the statistics once."""
    state = [(variable, ops.copy(variable.value)) for variable in layer.non_trainable_variables]

    def loss(x):
        return ops.sum(layer(x, training=True, **arguments) * ops.convert_to_tensor(upstream))

    gradients = checks.gradients(loss, [x], layer)
    for variable, value in state:  # On JAX gradients are stateless, elsewhere they have changed the statistics.
        variable.assign(value)
    return checks.numpy(layer(x, training=True, **arguments)), *gradients


@pytest.mark.parametrize("mask", [None, MASK])
def test_steps_equal_keras_on_the_real_cells(mask):
    settings = {"momentum": 0.7, "epsilon": 1e-3}
    layer, of_keras = ready(BatchNormalization(**settings)), ready(keras.layers.BatchNormalization(**settings))
    real = np.ones((B, H, W), bool) if mask is None else mask
    for seed in range(3):
        x, upstream = batch(seed)
        upstream = upstream * real[..., None]
        found = train_step(layer, x, upstream, mask=mask)
        expected = train_step(of_keras, x[real][None, None], upstream[real][None, None])
        for mine, other in zip(found[:2], expected[:2]):
            np.testing.assert_allclose(mine[real], other[0, 0], rtol=1e-4, atol=1e-4)
        assert not found[1][~real].any()
        for mine, other in zip(found[2:], expected[2:], strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-4)
        for name in "moving_mean", "moving_variance":
            mine, other = (checks.numpy(getattr(each, name)) for each in (layer, of_keras))
            np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-5)
    x = batch(9)[0]
    np.testing.assert_allclose(checks.numpy(layer(x)), checks.numpy(of_keras(x)), rtol=1e-4, atol=1e-4)


def test_the_mask_of_the_inputs_counts():
    x = batch(0)[0]
    layers = [ready(BatchNormalization()) for _ in range(2)]
    outputs = layers[0](checks.with_mask(x, MASK), training=True)
    np.testing.assert_array_equal(checks.numpy(checks.mask_of(outputs)), MASK)
    layers[1](x, mask=MASK, training=True)
    mine, other = (checks.numpy(layer.moving_mean) for layer in layers)
    np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("case", ["inference", "frozen", "padding"])
def test_statistics_stay(case):
    layer = ready(BatchNormalization())
    layer.trainable = case != "frozen"
    mask = np.zeros((B, H, W), bool) if case == "padding" else None
    found = checks.numpy(layer(batch(0)[0], mask=mask, training=case != "inference"))
    assert np.isfinite(found).all()
    assert not checks.numpy(layer.moving_mean).any() and (checks.numpy(layer.moving_variance) == 1).all()


def test_layer_rules(tmp_path):
    x = batch(0)[0].reshape(B, H * W, C)
    checks.check_layer(BatchNormalization, x)
    checks.check_saving(BatchNormalization, x, folder=tmp_path)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"momentum": 1.0}, "`momentum` must be at least 0 and less than 1. Received: momentum=1.0"),
        ({"epsilon": 0}, "`epsilon` must be a positive number. Received: epsilon=0"),
    ],
)
def test_wrong_settings_raise(setting, message):
    with pytest.raises(ValueError, match=message):
        BatchNormalization(**setting)


def test_wrong_shapes_raise():
    with pytest.raises(ValueError, match="known number of channels. Received: inputs_shape="):
        BatchNormalization().build((None, H, W, None))
    with pytest.raises(ValueError, match=r"`mask` must have shape \[3, 4, 5\]. Received: shape=\(3, 4, 4\)"):
        ready(BatchNormalization())(batch(0)[0], mask=MASK[:, :, :4], training=True)
