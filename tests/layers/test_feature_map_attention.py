"""Tests of self-attention on feature maps: its equation, blocks, spectral normalisation."""

import keras
import layer_checks as checks
import numpy as np
import pytest
import reference as ref
from keras import ops

from keras_transformer import FeatureMapAttention

B, H, W, C = 2, 3, 5, 16
X = checks.array(B, H, W, C)


def ready(**kwargs):
    layer = FeatureMapAttention(**kwargs)
    layer.build((None, None, None, C))
    return checks.randomize(layer)


def by_the_equation(layer, x):
    """Computes eq. 1-3 of Zhang et al. (2019), cell by cell."""
    f, g, h, v = (
        checks.numpy(projection.kernel)
        for projection in (
            *(layer.key_projection, layer.query_projection),
            *(layer.value_projection, layer.output_projection),
        )
    )
    outputs = []
    for image in x:
        cells = image.reshape(-1, image.shape[-1])
        scores = np.array([[(one @ f) @ (other @ g) for one in cells] for other in cells])  # s[j, i]
        weights = ref.softmax(scores)
        attended = np.array([sum(w * (cell @ h) for w, cell in zip(row, cells)) @ v for row in weights])
        outputs.append(float(layer.gamma) * attended.reshape(image.shape) + image)
    return np.stack(outputs)


@pytest.mark.parametrize("flash_attention", [None, True])
def test_equals_the_equation(flash_attention):
    layer = ready(reduction=4, flash_attention=flash_attention)
    np.testing.assert_allclose(checks.numpy(layer(X)), by_the_equation(layer, X), atol=1e-5)


def test_changes_nothing_at_first():
    np.testing.assert_array_equal(checks.numpy(FeatureMapAttention()(X)), X)


@checks.tensorflow_only
def test_gradients_in_blocks_are_those_of_the_whole():
    import tensorflow as tf

    gradients = []
    for flash_attention in (False, True):
        layer, inputs = ready(flash_attention=flash_attention), tf.constant(X)
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            loss = tf.reduce_sum(layer(inputs) ** 3)
        gradients.append(tape.gradient(loss, [inputs, *(weight.value for weight in layer.trainable_weights)]))
    for one, other in zip(*gradients):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_spectral_normalization_divides_by_the_largest_singular_value():
    layer = ready(spectral_normalization=True)
    for _ in range(50):  # Each training step improves the estimate.
        layer(X, training=True)
    kernel = checks.numpy(layer.value_projection.layer.kernel)
    assert np.linalg.svd(kernel, compute_uv=False)[0] == pytest.approx(1, abs=1e-3)
    before = checks.numpy(layer(X, training=False))
    np.testing.assert_array_equal(checks.numpy(layer(X)), before)
    assert len(layer.trainable_weights) == 5


def test_in_a_functional_model_of_any_size_and_in_half_precision(tmp_path):
    inputs = keras.Input((None, None, C))
    model = keras.Model(inputs, FeatureMapAttention(spectral_normalization=True)(inputs))
    checks.randomize(model)
    assert tuple(model.output.shape) == (None, None, None, C)
    found = checks.numpy(model(X))
    np.testing.assert_array_equal(checks.numpy(checks.reloaded(model, tmp_path)(X)), found)
    assert model(X[:, :2]).shape == (B, 2, W, C)
    half = ready(dtype="mixed_bfloat16")(ops.cast(X, "bfloat16"))
    assert keras.backend.standardize_dtype(half.dtype) == "bfloat16"
    np.testing.assert_allclose(checks.numpy(half), checks.numpy(ready()(X)), atol=0.1)


def test_invalid_sizes_raise():
    with pytest.raises(ValueError, match="`reduction` must be a positive integer. Received: reduction=0"):
        FeatureMapAttention(0)
    for shape in ((None, 4, 4, 12), (None, 4, 4, None), (None, 4, 16)):
        with pytest.raises(ValueError, match="with a known C, a multiple of reduction=8"):
            FeatureMapAttention().build(shape)
