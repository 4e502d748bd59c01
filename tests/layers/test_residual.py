"""Tests of the residual connection: pre-norm, post-norm, dropout."""

import layer_checks as checks
import numpy as np
import pytest
import reference as ref

from keras_transformer import Residual

B, T, D = 3, 5, 11
X, SUBLAYER = checks.array(B, T, D), checks.array(B, T, D, seed=1)


def ready(**kwargs):
    layer = Residual(**kwargs)
    layer.build((B, T, D))
    return checks.randomize(layer)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1])
@pytest.mark.parametrize("normalize_first", [False, True])
def test_equals_numpy(normalize_first, epsilon):
    layer = ready(normalize_first=normalize_first, epsilon=epsilon)
    norm = ref.part(ref.weights_of(layer), "norm")
    prepared = ref.layer_norm(X, norm, epsilon) if normalize_first else X
    np.testing.assert_allclose(checks.numpy(layer.prepare(X)), prepared, atol=1e-5)
    expected = X + SUBLAYER if normalize_first else ref.layer_norm(X + SUBLAYER, norm, epsilon)
    np.testing.assert_allclose(checks.numpy(layer(X, SUBLAYER)), expected, atol=1e-5)


def test_dropout_applies_to_the_sublayer_in_training_only():
    layer = ready(normalize_first=True, dropout=0.5)
    np.testing.assert_allclose(checks.numpy(layer(X, SUBLAYER)), X + SUBLAYER, atol=1e-6)
    kept = (checks.numpy(layer(X, SUBLAYER, training=True)) - X) / SUBLAYER
    assert set(np.unique(np.round(kept, 2))) == {0.0, 2.0}


def test_keeps_the_mask_of_the_inputs():
    mask = checks.lengths_mask((5, 3, 1), T)
    outputs = ready()(checks.with_mask(X, mask), checks.with_mask(SUBLAYER, ~mask))
    np.testing.assert_array_equal(checks.mask_of(outputs), mask)
    assert checks.mask_of(ready()(X, SUBLAYER)) is None


@pytest.mark.parametrize("normalize_first", [False, True])
def test_layer_rules(normalize_first, tmp_path):
    def make(**kwargs):
        return Residual(0.1, normalize_first, **kwargs)

    checks.check_layer(make, X, SUBLAYER)
    if not normalize_first:
        checks.check_saving(make, X, SUBLAYER, folder=tmp_path)
