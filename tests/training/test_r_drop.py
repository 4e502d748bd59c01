"""R-Drop: its value and gradient against NumPy, what it adds to the cross entropy, and bad input."""

import keras
import layer_checks as checks
import numpy as np
import pytest
import reference as ref
from keras import ops

from keras_transformer.training import RDropCrossEntropy, TokenCrossEntropy
from keras_transformer.training.r_drop import twin_divergence

B, T, V = 3, 5, 11
LOGITS = checks.array(2 * B, T, V, scale=2.0)
PADDING = np.repeat(checks.lengths_mask((5, 2, 4), T), 2, axis=0)
LABELS = np.repeat(np.random.default_rng(1).integers(1, V, (B, T)), 2, axis=0) * PADDING
UPSTREAM = checks.array(2 * B, T, seed=3)


def divergences(logits):
    """KL of each row's distribution to its twin's, from the definition, row by row."""
    probabilities = np.exp(-ref.cross_entropy(np.arange(V), np.asarray(logits, "float64")[..., None, :])[0])
    twins = probabilities[[row + 1 if row % 2 == 0 else row - 1 for row in range(len(logits))]]
    return (probabilities * np.log(probabilities / twins)).sum(-1)


def by_automatic_differentiation(logits):
    logs = ops.log_softmax(logits)
    first, second = logs[::2], logs[1::2]
    both = [ops.sum(ops.exp(a) * (a - b), axis=-1) for a, b in ((first, second), (second, first))]
    return ops.reshape(ops.stack(both, axis=1), (-1, T))


def test_divergence_and_its_gradient():
    np.testing.assert_allclose(checks.run(twin_divergence, LOGITS), divergences(LOGITS), atol=1e-5)
    slopes = [
        checks.gradients(lambda z, f=f: ops.sum(ops.multiply(UPSTREAM, f(z))), [LOGITS])[0]
        for f in (twin_divergence, by_automatic_differentiation)
    ]
    np.testing.assert_allclose(*slopes, atol=1e-5)
    assert np.abs(slopes[0]).max() > 0.1


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_equation_4(reduction):
    """The mean of both cross entropies, and alpha / 4 of both divergences, over the real tokens."""
    alpha, weights = 3.0, PADDING * np.repeat([0.5, 2.0, 1.0], 2)[:, None]
    entropies, _ = ref.cross_entropy(LABELS, LOGITS, 0.1)
    pairs = (weights[::2] * 2)[..., None]  # Of an example with both its rows.
    stacked = [values.reshape(B, 2, T).transpose(0, 2, 1) for values in (entropies, divergences(LOGITS))]
    expected = (pairs[..., 0] * (stacked[0].sum(-1) / 2 + alpha / 4 * stacked[1].sum(-1))).sum()
    loss = RDropCrossEntropy(alpha, 0.1, reduction=reduction)
    value = checks.run(lambda z: loss(LABELS, z, weights[:, 0].astype("float32")), LOGITS)
    assert float(value) == pytest.approx(expected / (weights.sum() if reduction == "mean" else 1.0), rel=1e-5)


def test_twins_that_agree_pay_nothing():
    logits = np.repeat(LOGITS[::2], 2, axis=0)
    ours, plain = (loss(LABELS, logits) for loss in (RDropCrossEntropy(5.0, 0.1), TokenCrossEntropy(0.1)))
    assert float(ours) == pytest.approx(float(plain), rel=1e-6)


def test_half_precision_and_extreme_logits():
    logits = ops.cast(np.where(LOGITS > 2, 3e4, LOGITS), "bfloat16")
    value = checks.numpy(twin_divergence(logits))
    assert value.dtype == "float32" and np.isfinite(value).all()
    (slope,) = checks.gradients(lambda z: ops.sum(twin_divergence(z)), [logits])
    assert np.isfinite(np.asarray(slope, "float32")).all()


def test_config():
    loss = RDropCrossEntropy(4.0, 0.1, pad_id=2, reduction="sum")
    copy = keras.losses.deserialize(keras.losses.serialize(loss))
    assert copy.get_config() == loss.get_config()
    assert float(copy(LABELS, LOGITS)) == float(loss(LABELS, LOGITS))


def test_errors():
    with pytest.raises(ValueError, match=r"pairs.* Received: 5 rows.*numpy.repeat"):
        RDropCrossEntropy(1.0)(LABELS[:5], LOGITS[:5])
    with pytest.raises(ValueError, match=r"`alpha` must be 0 or more. Received: alpha=-1"):
        RDropCrossEntropy(-1.0)
