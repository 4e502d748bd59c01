"""Connectionist temporal classification: against the sum over all paths, Keras's, and differences."""

import itertools

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.training import ctc_alignment, ctc_loss

RNG = np.random.default_rng(0)


def by_paths(logits, text):
    """Adds up the probabilities of all sequences of classes that give the text."""
    return -np.logaddexp.reduce([log_prob for _, log_prob in paths(logits, text)])


def paths(logits, text):
    """Lists all sequences of classes that give the text, with their log-probabilities."""
    log_probs = logits - np.logaddexp.reduce(logits, -1, keepdims=True)
    for path in itertools.product(range(logits.shape[-1]), repeat=len(logits)):
        if [token for token, _ in itertools.groupby(path) if token] == text:
            yield list(path), sum(log_probs[t, token] for t, token in enumerate(path))


def padded(texts):
    width = max(map(len, texts))
    return np.array([text + [0] * (width - len(text)) for text in texts], "int32")


TEXTS = [[1, 2], [2, 2], [3], [], [1, 1, 1], [1, 2, 1]]


def test_equals_the_sum_over_all_paths():
    logits = RNG.normal(0, 2, (len(TEXTS), 5, 4)).astype("float32")
    found = ops.convert_to_numpy(ctc_loss(padded(TEXTS), logits))
    np.testing.assert_allclose(found, [by_paths(z, text) for z, text in zip(logits, TEXTS)], rtol=1e-5)


def test_texts_that_do_not_fit_cost_nothing():
    logits = RNG.normal(0, 2, (3, 3, 4)).astype("float32")
    found = ops.convert_to_numpy(ctc_loss(padded([[2, 2, 2], [2, 2], [1, 2, 3]]), logits))
    assert found[0] == 0 and found[1] > 0 and found[2] > 0


def test_alignment_is_the_most_probable_of_all_paths():
    logits = RNG.normal(0, 2, (len(TEXTS), 5, 4)).astype("float32")
    found = ops.convert_to_numpy(ctc_alignment(padded(TEXTS), logits))
    assert found.tolist() == [max(paths(z, text), key=lambda p: p[1])[0] for z, text in zip(logits, TEXTS)]


def test_alignment_with_another_blank_and_certain_blanks_behind():
    logits = RNG.normal(0, 2, (2, 5, 4)).astype("float32")
    found = ops.convert_to_numpy(ctc_alignment(padded([[1, 2], [2, 2]]), logits))
    swap = np.array([3, 1, 2, 0])  # The blank is class 3.
    blank = np.where(np.arange(4) == 3, 0, np.full((2, 2, 4), -1e4, "float32"))
    labels = np.array([[1, 2, 3], [2, 2, 3]], "int32")
    other = ops.convert_to_numpy(ctc_alignment(labels, np.concatenate([logits[..., swap], blank], 1), 3))
    assert other.tolist() == [[*swap[path], 3, 3] for path in found]


def test_texts_that_do_not_fit_have_no_alignment():
    texts, logits = [[2, 2, 2], [1, 2, 3], [1, 1, 2], [1, 2, 3, 2]], np.zeros((4, 3, 4), "float32")
    logits[..., 1:] += RNG.random((4, 3, 3)).astype("float32")  # Labels rather than blanks.
    found = ops.convert_to_numpy(ctc_alignment(padded(texts), logits))
    assert found.tolist() == [[0, 0, 0], [1, 2, 3], [0, 0, 0], [0, 0, 0]]


def test_certain_blanks_cost_nothing():
    logits = RNG.normal(0, 2, (2, 5, 4)).astype("float32")
    blank = np.full((2, 7, 4), -1e4, "float32")
    blank[..., 0] = 0
    texts = padded([[1, 2], [3, 3]])
    found = ops.convert_to_numpy(ctc_loss(texts, np.concatenate([logits, blank], 1)))
    np.testing.assert_allclose(found, ops.convert_to_numpy(ctc_loss(texts, logits)), rtol=1e-6)


def gradient(function, x):
    """Returns the gradient of a function of x by the backend."""
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        x = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = function(x)
        return tape.gradient(value, x).numpy()
    if backend == "jax":
        import jax

        return np.asarray(jax.grad(function)(x))
    x = ops.convert_to_tensor(x)
    x.requires_grad_(True)
    function(x).backward()
    return ops.convert_to_numpy(x.grad)


def test_gradient_equals_keras():
    """On long texts, of which paths cannot be listed, with weights of the rows."""
    frames, texts = 30, [RNG.integers(1, 9, count).tolist() for count in (7, 12, 1)] + [[4] * 9]
    logits, weights = RNG.normal(0, 2, (4, frames, 9)).astype("float32"), np.array([1, -2, 0.5, 3], "float32")
    lengths = np.array([*map(len, texts)], "int32")
    steps = np.full(4, frames, "int32")

    def of_keras(z):
        return ops.sum(weights * ops.ctc_loss(padded(texts), z, lengths, steps, 0))

    def own(z):
        return ops.sum(weights * ctc_loss(padded(texts), z))

    np.testing.assert_allclose(float(own(logits)), float(of_keras(logits)), rtol=1e-5)
    np.testing.assert_allclose(gradient(own, logits), gradient(of_keras, logits), atol=2e-4)


def test_no_gradient_of_texts_that_do_not_fit():
    found = gradient(lambda z: ops.sum(ctc_loss(padded([[2, 2, 2]]), z)), RNG.normal(size=(1, 3, 4)).astype("float32"))
    np.testing.assert_array_equal(found, 0)


@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_numbers_far_apart(scale):
    logits = scale * RNG.normal(size=(1, 40, 6)).astype("float32")
    text = padded([[1, 2, 3, 4, 5]])
    found = gradient(lambda z: ops.sum(ctc_loss(text, z)), logits)
    assert np.isfinite(found).all() and np.abs(found).max() <= 1 + 1e-5
    np.testing.assert_allclose(found.sum(-1), 0, atol=1e-5 * scale + 1e-4)  # Log-probabilities of the size of `scale`.
