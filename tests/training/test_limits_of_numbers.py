"""Tests of integers in averages, and of negative steps in schedules."""

import numpy as np
import pytest

from keras_transformer.training import InverseSquareRoot, average_arrays


@pytest.mark.parametrize(("values", "mean"), [((1, 2, 2), 2), ((-1, -2, -2), -2), ((4, 4, 5), 4)])
def test_means_of_integers_are_rounded(values, mean):
    [found] = average_arrays([[np.full(2, value, "int32")] for value in values])
    assert found.dtype == "int32" and (found == mean).all()


def test_quantised_weights_that_differ_raise():
    weights = [{"kernel": np.full(2, value, "int8")} for value in (1, 1, 2)]
    assert (average_arrays(weights[:2])["kernel"] == 1).all()
    with pytest.raises(ValueError, match="Quantised weights have no mean.*Received for 'kernel'.*then quantise"):
        average_arrays(weights)


@pytest.mark.parametrize("name", ["cooldown_steps", "total_steps"])
def test_negative_steps_raise(name):
    with pytest.raises(ValueError, match=f"`{name}` must not be negative. Received: {name}=-3"):
        InverseSquareRoot(1e-3, 10, **{"total_steps": 100, name: -3})
