"""Calibration of probabilities by a temperature. NumPy only."""

import numpy as np

_RATIO = (5**0.5 - 1) / 2


def fit_temperature(gold: np.ndarray, probabilities: np.ndarray, current: float = 1.0) -> float:
    """Finds the temperature T for which softmax(logits / T) gives the classes the highest likelihood.

    It changes no prediction, only how sure a model is (Guo et al. 2017, "On Calibration of Modern Neural Networks",
    section 4.2). The likelihood has a single maximum in 1 / T, which is found by golden-section search. As in Platt
    (1999), section 2.2, the N classes count as one error more: with no error at all, T would go to zero.

    Args:
        gold: Classes `[N]`.
        probabilities: Probabilities `[N, C]` at the temperature `current`.
        current: That temperature.

    Returns:
        T, from 0.05 to 20; `current` if there are no examples.
    """
    if not len(gold):
        return current
    logits = current * np.log(np.maximum(np.asarray(probabilities, "float64"), 1e-30))
    logits -= logits.max(1, keepdims=True)

    wrong = 1 / (len(gold) + 2)

    def loss(inverse):
        scaled = inverse * logits
        expected = (1 - wrong) * scaled[np.arange(len(gold)), gold] + wrong * scaled.mean(1)
        return np.mean(np.log(np.exp(scaled).sum(1)) - expected)

    low, high = 0.05, 20.0
    while high - low > 1e-4:
        first, second = high - _RATIO * (high - low), low + _RATIO * (high - low)
        low, high = (low, second) if loss(first) < loss(second) else (first, high)
    return round(2 / (low + high), 4)
