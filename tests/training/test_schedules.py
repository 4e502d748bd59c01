"""Tests of learning rate schedules, alone and inside optimisers."""

import json

import keras
import layer_checks as checks
import numpy as np
import pytest
import reference as ref
from keras import ops

from keras_transformer.training import InverseSquareRoot, PerUpdate

D, WARMUP = 13, 7


def rates(schedule, steps):
    return np.array([float(schedule(step)) for step in steps])


def test_noam_is_equation_3():
    steps = [0, 1, 5, WARMUP - 1, WARMUP, 11, 100, 99_999]  # Keras counts from 0, the paper from 1.
    expected = [ref.noam(step + 1, D, WARMUP) for step in steps]
    np.testing.assert_allclose(rates(InverseSquareRoot.noam(D, WARMUP), steps), expected, rtol=1e-5)
    scaled = InverseSquareRoot.noam(D, WARMUP, scale=2.0)
    np.testing.assert_allclose(rates(scaled, steps), np.multiply(expected, 2), rtol=1e-5)
    base = InverseSquareRoot.noam(512)
    assert float(base(3999)) == pytest.approx(base.peak_learning_rate) == pytest.approx(512**-0.5 * 4000**-0.5)


def test_peak_at_the_end_of_the_warm_up():
    values = rates(InverseSquareRoot(0.3, WARMUP), range(40))
    assert np.isfinite(values).all() and (values > 0).all()
    assert values.argmax() == WARMUP - 1 and values.max() == pytest.approx(0.3)
    np.testing.assert_allclose(np.diff(values[:WARMUP]), 0.3 / WARMUP, rtol=1e-4)
    assert values[4 * WARMUP - 1] == pytest.approx(0.15)


def test_cool_down_ends_at_zero():
    plain, cooled = InverseSquareRoot(0.3, WARMUP), InverseSquareRoot(0.3, WARMUP, 31, 11)
    before, after = rates(plain, range(40)), rates(cooled, range(40))
    np.testing.assert_allclose(after[:21], before[:21], rtol=1e-6)
    np.testing.assert_allclose(after[20:31] / before[20:31], np.arange(11, 0, -1) / 11, rtol=1e-5)
    assert (after[30] > 0) and not after[31:].any()


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_compiled_steps_of_any_dtype(dtype):
    schedule = InverseSquareRoot(0.3, WARMUP, 31, 11)
    value = checks.compiled(schedule)(ops.convert_to_tensor(np.array(25, dtype)))
    assert float(value) == pytest.approx(float(schedule(25)))


def test_per_update_repeats_every_rate():
    schedule = InverseSquareRoot(0.3, WARMUP, 31, 11)
    repeated = rates(PerUpdate(schedule, 3), range(96))
    np.testing.assert_allclose(repeated, np.repeat(rates(schedule, range(32)), 3), rtol=1e-6)


@pytest.mark.parametrize(
    "schedule", [InverseSquareRoot(0.3, WARMUP, 31, 11), PerUpdate(InverseSquareRoot.noam(D, WARMUP), 3)]
)
def test_schedules_in_configs_of_optimisers(schedule):
    optimizer = keras.optimizers.Adam(schedule)
    config = json.loads(json.dumps(optimizer.get_config()))
    again = keras.optimizers.Adam.from_config(config)._learning_rate
    assert type(again) is type(schedule) and again.get_config() == schedule.get_config()
    np.testing.assert_allclose(rates(again, range(50)), rates(schedule, range(50)))


def linear_model():
    """Returns a linear map without a bias under mean squared error, whose gradient is simple."""
    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(3, use_bias=False)])
    model.set_weights([checks.array(5, 3, seed=4)])
    return model


def test_accumulated_batches_equal_one_large_batch():
    """Keras passes batches to schedules and updates to Adam; both must count updates."""
    batch, parts, updates = 6, 2, 5
    schedule = InverseSquareRoot(0.3, 3)
    inputs, outputs = checks.array(batch * updates, 5), checks.array(batch * updates, 3, seed=1)
    adam = {"beta_1": 0.9, "beta_2": 0.98, "epsilon": 1e-9}

    def trained(optimizer, batch_size):
        model = linear_model()
        model.compile(optimizer=optimizer, loss="mse")
        model.fit(inputs, outputs, batch_size=batch_size, shuffle=False, verbose=0)
        return model.get_weights()[0]

    large = trained(keras.optimizers.Adam(schedule, **adam), batch)
    accumulate = {"gradient_accumulation_steps": parts, **adam}
    small = trained(keras.optimizers.Adam(PerUpdate(schedule, parts), **accumulate), batch // parts)
    np.testing.assert_allclose(small, large, atol=1e-6)

    weights = linear_model().get_weights()[0].astype("float64")
    mean = variance = np.zeros_like(weights)
    for update in range(updates):
        x, y = (a[update * batch : (update + 1) * batch] for a in (inputs, outputs))
        gradient = 2 * x.T @ (x @ weights - y) / y.size
        change, mean, variance = ref.adam(gradient, mean, variance, update + 1, **adam)
        weights = weights - 0.3 * min((update + 1) / 3, (3 / (update + 1)) ** 0.5) * change
    np.testing.assert_allclose(large, weights, atol=1e-5)

    too_fast = trained(keras.optimizers.Adam(schedule, **accumulate), batch // parts)
    assert np.abs(too_fast - large).max() > 1e-2, "without PerUpdate the schedule runs ahead"


def test_invalid_arguments_raise():
    for peak, warmup in ((0.0, WARMUP), (-1.0, WARMUP), (0.3, 0)):
        with pytest.raises(ValueError, match=f"must be positive. Received: peak_learning_rate={peak}, .*={warmup}"):
            InverseSquareRoot(peak, warmup)
    with pytest.raises(ValueError, match="needs `total_steps`.* Received: total_steps=None, cooldown_steps=11"):
        InverseSquareRoot(0.3, WARMUP, cooldown_steps=11)
    for steps in (0, -2, 1.5):
        with pytest.raises(ValueError, match=f"`accumulation_steps` must be a positive integer. Received: .*={steps}"):
            PerUpdate(InverseSquareRoot(0.3, WARMUP), steps)
