"""Tests of vector-Jacobian products against known Jacobians."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.ops.gradients import vector_jacobian_products, weight_gradients


def test_products_of_a_bilinear_function():
    """Checks y = A B and z = sum(A), which does not depend on B."""
    rng = np.random.default_rng(1)
    a, b = (rng.normal(size=shape).astype("float32") for shape in ((3, 5), (5, 2)))
    vectors = [[rng.normal(size=(3, 2)), np.float32(0)], [np.zeros((3, 2)), np.float32(2)]]

    def function(inputs):
        return [inputs[0] @ inputs[1], ops.sum(inputs[0])]

    found = vector_jacobian_products(function, [ops.convert_to_tensor(a), ops.convert_to_tensor(b)], vectors)
    np.testing.assert_allclose(found[0][0], vectors[0][0] @ b.T, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[0][1], a.T @ vectors[0][0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[1][0], np.full((3, 5), 2))
    np.testing.assert_allclose(found[1][1], np.zeros((5, 2)))


class Scaled(keras.layers.Layer):
    """Computes y = 3 x W in training and y = x W else."""

    def build(self, shape):
        self.kernel = self.add_weight(name="kernel", shape=(shape[-1], 2))

    def call(self, x, training=False):
        return (3.0 if training else 1.0) * ops.matmul(x, self.kernel)


@pytest.mark.parametrize("training", [False, True])
def test_gradients_of_weights_are_those_of_the_mode(training):
    rng = np.random.default_rng(2)
    x, vector = (rng.normal(size=shape).astype("float32") for shape in ((7, 5), (7, 2)))
    model = keras.Sequential([keras.Input((5,)), Scaled()])
    [found] = weight_gradients(
        model, ops.convert_to_tensor(x), lambda y: ops.sum(y * ops.convert_to_tensor(vector)), training
    )
    np.testing.assert_allclose(found, (3 if training else 1) * x.T @ vector, rtol=1e-5, atol=1e-6)
