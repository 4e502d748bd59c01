"""Tests of dropout: rate, scale, gradient and seed, in every precision."""

import keras
import layer_checks as checks
import numpy as np
import pytest
from keras import ops

from keras_transformer.ops.dropout import dropout


def under_xla(x, rate, seed):
    import tensorflow as tf

    return tf.function(lambda x: dropout(x, rate, seed), jit_compile=True, autograph=False)(x)


WAYS = [dropout, *([under_xla] if keras.backend.backend() == "tensorflow" else [])]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_drops_at_the_rate_and_keeps_the_mean(rate, way):
    x = np.full((101, 103), 3.0, "float32")  # An odd number of elements.
    found = checks.numpy(way(ops.convert_to_tensor(x), rate, keras.random.SeedGenerator(1)))
    deviation = np.sqrt(rate * (1 - rate) / x.size)
    assert abs((found == 0).mean() - rate) < 4 * deviation
    np.testing.assert_allclose(found[found != 0], 3 / (1 - rate), rtol=1e-4)
    # Neighbours are independent: on both axes, both are dropped with the probability rate squared.
    for pairs in ((found[1:] == 0) & (found[:-1] == 0), (found[:, 1:] == 0) & (found[:, :-1] == 0)):
        assert abs(pairs.mean() - rate**2) < 6 * np.sqrt(rate**2 * (1 - rate**2) / pairs.size)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_gradient_is_the_mask(dtype):
    x = ops.cast(checks.array(5, 7), dtype)

    def loss(x):
        return ops.sum(ops.cast(dropout(x, 0.3, keras.random.SeedGenerator(2)), "float32"))

    kept = checks.numpy(dropout(x, 0.3, keras.random.SeedGenerator(2))) != 0
    (gradient,) = checks.gradients(loss, [x])
    np.testing.assert_allclose(gradient, kept / 0.7, rtol=0.01)


@pytest.mark.parametrize("way", WAYS)
def test_calls_differ_and_a_seed_repeats_them(way):
    x, seed = ops.ones((50, 50)), keras.random.SeedGenerator(3)
    first, second = (checks.numpy(way(x, 0.5, seed)) for _ in range(2))
    assert 0.4 < (first == second).mean() < 0.6
    np.testing.assert_array_equal(checks.numpy(way(x, 0.5, keras.random.SeedGenerator(3))), first)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="The backend draws its bits by itself.")
def test_xla_draws_by_threefry():
    """By Philox, it would draw the bits of the plain graph, a hundred times as slowly on a CPU."""
    x = ops.ones((50, 50))
    plain, compiled = (checks.numpy(way(x, 0.5, keras.random.SeedGenerator(3))) for way in WAYS)
    assert 0.4 < (plain == compiled).mean() < 0.6


@pytest.mark.parametrize("rate", [0.0, 1e-6])
def test_rates_near_zero(rate):
    found = checks.numpy(dropout(ops.ones((9, 9)), rate, keras.random.SeedGenerator(4)))
    np.testing.assert_allclose(found, 1.0, rtol=1e-5)
