"""Tests of layer normalisation against NumPy and Keras."""

import keras
import numpy as np
import pytest
from keras import ops
from layer_checks import array, tensorflow_only

from keras_transformer.layers.normalization import LayerNormalization
from keras_transformer.ops.gradients import vector_jacobian_products


def built(layer_class, dtype="float32"):
    layer = layer_class(epsilon=1e-3, dtype=dtype)
    layer.build((None, None, 7))
    layer.gamma.assign(array(7) + 1)
    layer.beta.assign(array(7) * 2)
    return layer


def test_outputs_equal_numpy():
    x, layer = array(2, 3, 7) * 5 + 2, built(LayerNormalization)
    centred = x - x.mean(-1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-3) * (array(7) + 1) + array(7) * 2
    np.testing.assert_allclose(ops.convert_to_numpy(layer(x)), expected, rtol=1e-5, atol=1e-5)


def test_gradients_equal_those_of_keras():
    x, upstream = ops.convert_to_tensor(array(2, 3, 7) * 5 + 2), array(2, 3, 7)

    def gradient(layer):
        [[found]] = vector_jacobian_products(lambda inputs: [layer(inputs[0])], [x], [[upstream]])
        return found

    found, expected = gradient(built(LayerNormalization)), gradient(built(keras.layers.LayerNormalization))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["mixed_float16", "mixed_bfloat16", pytest.param("float64", marks=tensorflow_only)])
def test_precision_is_that_of_keras(dtype):
    x = (array(2, 3, 7) * 1000).astype("float64" if dtype == "float64" else "float32")
    found, expected = (built(each, dtype)(x) for each in (LayerNormalization, keras.layers.LayerNormalization))
    assert found.dtype == expected.dtype
    found, expected = (ops.convert_to_numpy(y).astype("float64") for y in (found, expected))
    np.testing.assert_allclose(found, expected, atol=1e-12 if dtype == "float64" else 2e-2)


def test_configuration_restores_the_layer():
    layer = LayerNormalization(epsilon=1e-4, name="norm")
    assert LayerNormalization.from_config(layer.get_config()).get_config() == layer.get_config()
