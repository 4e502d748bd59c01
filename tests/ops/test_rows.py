"""Tests of products and softmax of single query steps against NumPy."""

import keras
import numpy as np
import pytest
from keras import ops
from layer_checks import array, tensorflow_only

from keras_transformer.ops.attention import dot_product_attention, softmax
from keras_transformer.ops.rows import is_row, row_matmul


def test_only_single_steps_are_rows():
    assert not is_row(ops.zeros((2, 3, 4))) and not is_row(ops.zeros((2, 1, 4), "bfloat16"))
    assert not is_row(ops.zeros((2, 1, 0)))
    assert is_row(ops.zeros((2, 1, 4))) == (keras.backend.backend() == "tensorflow")


@tensorflow_only
def test_products_equal_numpy():
    x, y = array(6, 1, 5), array(6, 5, 7)
    np.testing.assert_allclose(row_matmul(x, y), x @ y, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(row_matmul(x, y.transpose(0, 2, 1), transpose_y=True), x @ y, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("large", [0.0, 1e6])
def test_softmax_equals_numpy(large):
    x = array(2, 3, 1, 5) + np.float32(large)
    powers = np.exp(x - x.max(-1, keepdims=True))
    found = ops.convert_to_numpy(softmax(ops.convert_to_tensor(x)))
    np.testing.assert_allclose(found, powers / powers.sum(-1, keepdims=True), rtol=1e-5)


def test_a_step_is_attended_as_among_others():
    query, key, value = (ops.convert_to_tensor(array(*shape)) for shape in ((2, 3, 4, 8), (6, 5, 8), (6, 5, 8)))
    whole, weights = dot_product_attention(query, key, value)
    for step in range(4):
        alone, own = dot_product_attention(query[:, :, step : step + 1], key, value)
        np.testing.assert_allclose(*map(ops.convert_to_numpy, (alone, whole[:, :, step : step + 1])), atol=1e-5)
        np.testing.assert_allclose(*map(ops.convert_to_numpy, (own, weights[:, :, step : step + 1])), atol=1e-6)
