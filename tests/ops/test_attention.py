"""Tests of scaled dot-product attention against its equation, in every precision, with queries that see no key."""

import keras
import layer_checks as checks
import numpy as np
import pytest
import reference as ref
from keras import ops

from keras_transformer.ops.attention import attention_scores, dot_product_attention

B, T, S, N, H, VALUE = 3, 5, 7, 2, 11, 13


def heads(dtype="float32", scale=1.0):
    """Returns a query `[B, N, T, H]`, key and value `[B * N, S, *]`."""
    shapes = (B, N, T, H), (B * N, S, H), (B * N, S, VALUE)
    return [ops.cast(checks.array(*s, seed=i, scale=scale), dtype) for i, s in enumerate(shapes)]


def expected_attention(query, key, value, mask=None):
    query, key, value = (checks.numpy(x) for x in (query, key, value))
    return ref.attention(query, key.reshape(B, N, S, H), value.reshape(B, N, S, VALUE), mask)


def random_mask(*shape):
    """Returns a mask that hides a third, never the first key, and all keys of query step 2 in sentence 1."""
    mask = np.random.default_rng(3).random(shape) < 0.67
    mask[..., 0] = True
    if shape == (B, T, S):
        mask[1, 2] = False
    return mask


@pytest.mark.parametrize("shape", [None, (B, T, S), (1, T, S), (B, 1, S)])
def test_equals_the_equation(shape):
    mask = None if shape is None else random_mask(*shape)
    query, key, value = heads()
    outputs, weights = dot_product_attention(query, key, value, mask)
    expected = expected_attention(query, key, value, mask)
    np.testing.assert_allclose(checks.numpy(outputs), expected[0], atol=2e-6)
    np.testing.assert_allclose(checks.numpy(weights), expected[1], atol=1e-6)


def test_scores_are_scaled_by_the_root_of_the_width():
    query, key, _ = heads()
    expected = np.einsum("bnth,bnsh->bnts", checks.numpy(query), checks.numpy(key).reshape(B, N, S, H)) / np.sqrt(H)
    np.testing.assert_allclose(checks.numpy(attention_scores(query, key)), expected, atol=1e-5)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_softmax_runs_in_float32(dtype):
    query, key, value = heads(dtype, scale=2.0)
    scores = attention_scores(query, key)
    outputs, weights = dot_product_attention(query, key, value)
    assert keras.backend.standardize_dtype(outputs.dtype) == dtype
    assert keras.backend.standardize_dtype(weights.dtype) == "float32"
    # A softmax in half precision would be off by 1e-3 or more.
    np.testing.assert_allclose(checks.numpy(weights), ref.softmax(checks.numpy(scores).astype("float64")), atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_queries_without_visible_keys_give_zeros_and_no_gradient(dtype):
    mask = random_mask(B, T, S)
    hidden = ~mask.any(-1)
    assert hidden.sum() == 1
    inputs = heads(dtype)
    outputs, weights = dot_product_attention(*inputs, mask)
    outputs, weights = (checks.numpy(x).transpose(0, 2, 1, 3) for x in (outputs, weights))
    assert not outputs[hidden].any() and not weights[hidden].any()
    assert outputs[~hidden].any(-1).all()

    def loss(query, key, value):
        outputs, weights = dot_product_attention(query, key, value, mask)
        both = ops.cast(outputs, "float32"), weights
        return sum(ops.sum(ops.where(hidden[:, None, :, None], x, 0.0) * 3.0) for x in both)

    assert not any(g.any() for g in checks.gradients(loss, inputs))


def test_dropout_applies_to_weights_but_not_to_returned_ones():
    query, key, value = heads()
    keep = (np.random.default_rng(4).random((B, N, T, S)) < 0.5).astype("float32") * 2
    outputs, weights = dot_product_attention(query, key, value, None, dropout=lambda w: ops.multiply(w, keep))
    _, expected = expected_attention(query, key, value)
    np.testing.assert_allclose(checks.numpy(weights), expected, atol=1e-6)
    dropped = np.einsum("bnts,bnsh->bnth", expected * keep, checks.numpy(value).reshape(B, N, S, VALUE))
    np.testing.assert_allclose(checks.numpy(outputs), dropped, atol=2e-6)


def test_huge_scores_stay_finite():
    query, key, value = heads(scale=1e4)
    outputs, weights = dot_product_attention(query, key, value, random_mask(B, T, S))
    assert np.isfinite(checks.numpy(outputs)).all() and np.isfinite(checks.numpy(weights)).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_scores_beyond_float16_are_those_of_float32(dtype):
    """Values of float16 whose products are not: infinite scores would be NaN in the softmax."""
    query, key, value = heads(dtype)
    query, key = query * 1e3, ops.multiply(key, ops.cast(np.repeat([1e3, 1.0, 1e-3], N)[:, None, None], dtype))
    scores = np.einsum("bnth,bnsh->bnts", checks.numpy(query), checks.numpy(key).reshape(B, N, S, H)) / np.sqrt(H)
    assert np.abs(scores).max() > 1e5
    bound = np.abs(scores).max(axis=-1, keepdims=True)
    found = checks.numpy(attention_scores(query, key))
    tolerance = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5}[dtype]
    assert (np.abs(found - scores) <= tolerance * bound).all()
    outputs, weights = dot_product_attention(query, key, value)
    assert np.isfinite(checks.numpy(outputs)).all() and np.isfinite(checks.numpy(weights)).all()
    found = checks.gradients(lambda *x: ops.sum(ops.cast(dot_product_attention(*x)[0], "float32")), [query, key, value])
    assert all(np.isfinite(gradient).all() for gradient in found)
