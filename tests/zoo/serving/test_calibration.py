"""The temperature is that of the highest likelihood, by an exhaustive search; it changes no prediction."""

import numpy as np
import pytest

from zoo.serving.calibration import fit_temperature


def softmax(x):
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def drawn(temperature, count=4000, seed=0):
    """Returns classes drawn from softmax(logits / temperature), and the logits."""
    rng = np.random.default_rng(seed)
    logits = 3 * rng.normal(size=(count, 4))
    return np.array([rng.choice(4, p=p) for p in softmax(logits / temperature)]), logits


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_the_best_of_all_temperatures(temperature):
    gold, logits = drawn(temperature)
    grid = np.linspace(0.1, 6, 2000)
    losses = [-np.log(softmax(logits / t)[np.arange(len(gold)), gold]).mean() for t in grid]
    found = fit_temperature(gold, softmax(logits))
    assert found == pytest.approx(grid[np.argmin(losses)], abs=0.01) == pytest.approx(temperature, rel=0.1)
    assert fit_temperature(gold, softmax(logits / 2), 2.0) == pytest.approx(found, abs=1e-3)


def test_extremes():
    assert fit_temperature(np.zeros(0, int), np.zeros((0, 3))) == 1.0
    sure = np.array([[0.9, 0.1]] * 5)
    assert fit_temperature(np.ones(5, int), sure) == pytest.approx(20, rel=0.01)
    temperature = fit_temperature(np.zeros(5, int), sure)
    right = softmax(np.log(sure) / temperature)[0, 0]
    assert right == pytest.approx(1 - 1 / 7 + 1 / 14, abs=1e-3), "six of seven, the other one even"
