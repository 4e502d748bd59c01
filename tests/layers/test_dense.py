"""The dense layer under half precision; what it computes is Keras's and tested where it is used."""

import layer_checks as checks
import numpy as np
import pytest
from keras import ops

from keras_transformer import FeedForward
from keras_transformer.layers.dense import Dense


@pytest.mark.parametrize(
    "make", [lambda: Dense(3, dtype="mixed_bfloat16"), lambda: FeedForward(5, dtype="mixed_bfloat16")]
)
def test_no_row_is_lost_from_the_gradient_of_the_bias(make):
    """Summed one by one in bfloat16, nothing is added any more from 256 on."""
    layer, x = make(), checks.array(32, 128, 3)
    layer.build(x.shape)
    *_, found = checks.gradients(lambda x: ops.sum(ops.cast(layer(x), "float32")), [x], layer)
    np.testing.assert_allclose(found, 4096.0)
