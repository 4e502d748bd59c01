"""R-Drop against Liang et al. (2021), eq. 1 to 3, in NumPy."""

import keras
import numpy as np
import pytest

from keras_transformer.training import RDropCrossEntropy, TokenCrossEntropy


def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def kl(p, q):
    return (p * np.log(p / q)).sum(-1)


@pytest.mark.parametrize("alpha", [0.0, 0.7, 5.0])
def test_the_loss_is_that_of_the_paper(alpha):
    rng = np.random.default_rng(0)
    labels = rng.integers(1, 6, (3, 4))
    labels[1, 2:] = 0
    logits = rng.normal(size=(6, 4, 6)).astype("float32")
    first, second = softmax(logits[::2]), softmax(logits[1::2])
    likelihoods = [-np.log(np.take_along_axis(p, labels[..., None], -1))[..., 0] for p in (first, second)]
    losses = sum(likelihoods) + alpha / 2 * (kl(first, second) + kl(second, first))
    found = RDropCrossEntropy(alpha, reduction="sum")(np.repeat(labels, 2, axis=0), logits)
    assert float(found) == pytest.approx(losses[labels > 0].sum(), rel=1e-5)
    mean = RDropCrossEntropy(alpha)(np.repeat(labels, 2, axis=0), logits)
    assert float(mean) == pytest.approx(losses[labels > 0].sum() / (2 * (labels > 0).sum()), rel=1e-5)


def test_equal_passes_have_no_divergence():
    rng = np.random.default_rng(1)
    labels, logits = rng.integers(1, 6, (3, 4)), rng.normal(size=(3, 4, 6)).astype("float32")
    twice = np.repeat(labels, 2, axis=0), np.repeat(logits, 2, axis=0)
    expected = TokenCrossEntropy(0.1)(labels, logits)
    assert float(RDropCrossEntropy(5.0, label_smoothing=0.1)(*twice)) == pytest.approx(float(expected), rel=1e-6)


def test_configuration():
    loss = RDropCrossEntropy(3.0, label_smoothing=0.1)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(loss))
    assert again.get_config() == loss.get_config() and again.alpha == 3.0
    with pytest.raises(ValueError, match="`alpha` must be 0 or more"):
        RDropCrossEntropy(-1.0)
