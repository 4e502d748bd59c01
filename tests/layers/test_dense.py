"""Tests of the dense layer in half precision; its outputs are tested in the layers that use it."""

import layer_checks as checks
import numpy as np
import pytest
from keras import ops

from keras_transformer import FeedForward
from keras_transformer.layers.dense import Dense


@pytest.mark.parametrize(
    "make", [lambda: Dense(3, dtype="mixed_bfloat16"), lambda: FeedForward(5, dtype="mixed_bfloat16")]
)
def test_gradient_of_the_bias_sums_all_rows(make):
    """A bfloat16 sum of ones, one by one, stays at 256."""
    layer, x = make(), checks.array(32, 128, 3)
    layer.build(x.shape)
    *_, found = checks.gradients(lambda x: ops.sum(ops.cast(layer(x), "float32")), [x], layer)
    np.testing.assert_allclose(found, 4096.0)
