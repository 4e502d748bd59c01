"""Tests of labels that are no classes, and of the shapes of labels and weights that Keras allows."""

import keras
import layer_checks as checks
import numpy as np
import pytest
from keras import ops

from keras_transformer import set_value_checks
from keras_transformer.training import TokenCrossEntropy

B, T, V = 3, 5, 7
LOGITS = checks.array(B, T, V)
LABELS = np.random.default_rng(0).integers(0, V, (B, T))


def with_label(label):
    labels = LABELS.copy()
    labels[1, 2] = label
    return labels


@pytest.mark.parametrize("label", [-1, -100, V])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_labels_outside_of_the_classes_raise(label, dtype):
    message = rf"must hold classes in \[0, 7\) or pad_id=0. Received: labels from {label} to {label}. Set `pad_id`"
    with pytest.raises(ValueError, match=message):
        TokenCrossEntropy()(with_label(label).astype(dtype), LOGITS)


@pytest.mark.parametrize("label", [-1, -100, V])
def test_padding_may_be_outside_of_the_classes(label):
    """The gradient of padding is 0, and the loss that of the other labels."""
    loss, labels = TokenCrossEntropy(0.1, pad_id=label), with_label(label)
    weights = np.ones((B, T))
    weights[1, 2] = 0
    expected = float(TokenCrossEntropy(0.1, pad_id=None)(LABELS, LOGITS, weights))
    assert float(loss(labels, LOGITS)) == pytest.approx(expected, rel=1e-6)
    (gradient,) = checks.gradients(lambda z: loss(labels, z), [LOGITS])
    assert not gradient[1, 2].any() and np.isfinite(gradient).all()


@checks.tensorflow_only
def test_graphs_fail():
    import tensorflow as tf

    model = keras.Sequential([keras.Input((T,)), keras.layers.Dense(T * V), keras.layers.Reshape((T, V))])
    model.compile("sgd", TokenCrossEntropy())
    x = np.ones((B, T), "float32")
    assert np.isfinite(model.fit(x, LABELS, verbose=0).history["loss"]).all()
    before = model.get_weights()
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Received: labels from\] \[-100\] \[to\] \[0\]"):
        model.fit(x, with_label(-100), verbose=0)
    assert all(np.array_equal(one, other) for one, other in zip(before, model.get_weights()))


@pytest.mark.parametrize("label", [-1, V])
def test_compiled_losses_are_nan(label):
    loss = TokenCrossEntropy()
    if keras.backend.backend() == "torch":
        pytest.skip("torch compiles nothing")
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        compiled = tf.function(loss, jit_compile=True)
    else:
        compiled = checks.compiled(loss)
    right, wrong, logits = map(ops.convert_to_tensor, (LABELS, with_label(label), LOGITS))
    assert float(compiled(right, logits)) == pytest.approx(float(loss(right, logits)), rel=1e-5)
    assert np.isnan(float(compiled(wrong, logits)))


def test_without_checks_the_loss_is_nan():
    set_value_checks(False)
    try:
        assert np.isnan(float(TokenCrossEntropy()(with_label(-1), LOGITS)))
    finally:
        set_value_checks(True)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("shape", [(0, T), (B, 0)])
def test_no_labels_give_zero(reduction, shape):
    loss, labels = TokenCrossEntropy(0.1, reduction=reduction), np.zeros(shape, "int32")
    logits = np.zeros((*shape, V), "float32")
    assert float(loss(labels, logits)) == 0.0
    assert float(checks.run(lambda z: loss(labels, z), logits)) == 0.0


def test_shapes_as_in_keras():
    loss, rows, tokens = TokenCrossEntropy(0.1), np.array([0.5, 2.0, 0.0]), checks.array(B, T) ** 2
    plain = [float(loss(LABELS, LOGITS, w)) for w in (None, rows, tokens)]
    for labels in (LABELS, LABELS[..., None], LABELS[..., None].astype("uint8")):
        assert float(loss(labels, LOGITS)) == pytest.approx(plain[0], rel=1e-6)
        for weights in (rows, rows[:, None], rows[:, None, None]):
            assert float(loss(labels, LOGITS, weights)) == pytest.approx(plain[1], rel=1e-6)
        for weights in (tokens, tokens[..., None]):
            assert float(loss(labels, LOGITS, weights)) == pytest.approx(plain[2], rel=1e-6)
    classes = [loss(labels, LOGITS[:, 0], w) for labels in (LABELS[:, 0], LABELS[:, :1]) for w in (rows, rows[:, None])]
    assert np.ptp([float(value) for value in classes]) < 1e-6
