"""Tests of attention pooling: its equation, padding, rows of padding alone."""

import keras
import layer_checks as checks
import numpy as np
import pytest
import reference as ref
from keras import ops

from keras_transformer import AttentionPooling

B, T, N, H = 3, 7, 2, 5
X = checks.array(B, T, N * H)
MASK = checks.lengths_mask((7, 2, 4), T)


def ready(**kwargs):
    layer = AttentionPooling(N, **kwargs)
    layer.build((None, None, N * H))
    return checks.randomize(layer)


@pytest.mark.parametrize("mask", [None, MASK], ids=["full", "padded"])
def test_equals_the_equation(mask):
    layer = ready()
    heads = X.reshape(B, T, N, H)
    scores = np.einsum("btnh,nh->bnt", heads, checks.numpy(layer.query)) / np.sqrt(H)
    if mask is not None:
        scores = np.where(mask[:, None], scores, -np.inf)
    expected = np.einsum("bnt,btnh->bnh", ref.softmax(scores), heads).reshape(B, N * H)
    np.testing.assert_allclose(checks.numpy(layer(X, mask=mask)), expected, atol=1e-6)
    if mask is not None:
        np.testing.assert_allclose(checks.numpy(layer(checks.with_mask(X, mask))), expected, atol=1e-6)


def test_row_without_real_steps_gives_the_plain_average():
    outputs = ready()(X, mask=np.zeros((B, T), bool))
    np.testing.assert_allclose(checks.numpy(outputs), X.mean(1), atol=1e-6)


def test_in_a_functional_model_and_in_half_precision(tmp_path):
    ids = keras.Input((None,), dtype="int32")
    vectors = keras.layers.Embedding(11, N * H, mask_zero=True)(ids)
    model = keras.Model(ids, AttentionPooling(N)(vectors))
    assert tuple(model.output.shape) == (None, N * H) and checks.mask_of(model.output) is None
    token_ids = np.array([[5, 3, 0, 0], [2, 7, 1, 4]])
    found = checks.numpy(model(token_ids))
    np.testing.assert_allclose(checks.numpy(model(token_ids[:1, :2])), found[:1], atol=1e-6)
    np.testing.assert_array_equal(checks.numpy(checks.reloaded(model, tmp_path)(token_ids)), found)
    half = ready(dtype="mixed_bfloat16")(ops.cast(X, "bfloat16"), mask=MASK)
    assert keras.backend.standardize_dtype(half.dtype) == "bfloat16"
    np.testing.assert_allclose(checks.numpy(half), checks.numpy(ready()(X, mask=MASK)), atol=0.03)


def test_invalid_sizes_raise():
    with pytest.raises(ValueError, match="`num_heads` must be a positive integer. Received: num_heads=0"):
        AttentionPooling(0)
    with pytest.raises(ValueError, match="divisible by num_heads=3"):
        AttentionPooling(3).build((None, None, 10))


def test_one_step_is_its_own_average_without_a_warning():
    x = checks.array(3, 1, 6)
    np.testing.assert_allclose(checks.numpy(AttentionPooling(2)(x)), x[:, 0], atol=1e-6)
