"""Tests of label-smoothed cross entropy: values, gradients, weights, padding, and no one-hot in the graph."""

import keras
import layer_checks as checks
import numpy as np
import pytest
import reference as ref
from keras import ops

from keras_transformer.training import TokenCrossEntropy
from keras_transformer.training.losses import smoothed_cross_entropy

B, T, V = 3, 7, 23
LOGITS = checks.array(B, T, V, scale=2.0)
PADDING = checks.lengths_mask((7, 2, 5), T)
LABELS = np.random.default_rng(1).integers(1, V, (B, T)) * PADDING
ROW_WEIGHTS, TOKEN_WEIGHTS = np.array([0.5, 2.0, 3.0], "float32"), np.abs(checks.array(B, T, seed=2))


def naive(labels, logits, smoothing):
    """Computes the formula with a one-hot matrix, for automatic differentiation."""
    wanted = (1 - smoothing) * ops.one_hot(labels, V) + smoothing / V
    return -ops.sum(wanted * ops.log_softmax(logits), axis=-1)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
def test_tokens_equal_the_one_hot_formula(smoothing):
    losses = smoothed_cross_entropy(LABELS, ops.convert_to_tensor(LOGITS), smoothing)
    expected, slope = ref.cross_entropy(LABELS, LOGITS, smoothing)
    np.testing.assert_allclose(checks.numpy(losses), expected, atol=1e-5)
    upstream = TOKEN_WEIGHTS - 0.5  # Of either sign.

    def by(function):
        return lambda logits: ops.sum(ops.multiply(upstream, function(LABELS, logits, smoothing)))

    (ours,), (auto,) = (checks.gradients(by(f), [LOGITS]) for f in (smoothed_cross_entropy, naive))
    np.testing.assert_allclose(ours, upstream[..., None] * slope, atol=1e-6)
    np.testing.assert_allclose(ours, auto, atol=1e-6)


def test_labels_of_minus_one_are_ignored():
    """One class per row, as in classification, where 0 is a class like any other."""
    labels, logits = np.array([0, -1, 5]), LOGITS[:, 0]
    loss = TokenCrossEntropy(0.1, pad_id=-1)
    losses, slope = ref.cross_entropy(labels[[0, 2]], logits[[0, 2]], 0.1)
    assert float(loss(labels, ops.convert_to_tensor(logits))) == pytest.approx(losses.mean(), rel=1e-5)
    (found,) = checks.gradients(lambda z: loss(labels, z), [logits])
    np.testing.assert_allclose(found[[0, 2]], slope / 2, atol=1e-6)
    assert not found[1].any()


def test_extreme_logits():
    logits = np.zeros((1, 3, V), "float32")
    logits[0, 0, 5], logits[0, 1, 5], logits[0, 2, 0] = 1e4, -1e4, 1e4
    labels = np.array([[5, 5, 5]])
    losses = checks.numpy(smoothed_cross_entropy(labels, ops.convert_to_tensor(logits)))
    np.testing.assert_allclose(losses, [[0.0, 1e4 + np.log(V - 1), 1e4]], rtol=1e-5)
    (slope,) = checks.gradients(lambda z: ops.sum(smoothed_cross_entropy(labels, z)), [logits])
    np.testing.assert_allclose(slope, ref.cross_entropy(labels, logits)[1], atol=1e-5)


@pytest.mark.parametrize("sample_weight", [None, ROW_WEIGHTS, TOKEN_WEIGHTS], ids=["plain", "rows", "tokens"])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_mean_over_real_tokens(reduction, sample_weight):
    loss = TokenCrossEntropy(0.1, reduction=reduction)
    weights = PADDING.astype("float64")
    if sample_weight is not None:
        weights = weights * sample_weight.reshape(B, -1)
    losses, slope = ref.cross_entropy(LABELS, LOGITS, 0.1)
    total = 1.0 if reduction == "sum" else weights.sum()
    value = checks.run(lambda z: loss(LABELS, z, sample_weight), LOGITS)
    assert value.shape == () and keras.backend.standardize_dtype(value.dtype) == "float32"
    assert float(value) == pytest.approx((weights * losses).sum() / total, rel=1e-5)
    (gradient,) = checks.gradients(lambda z: loss(LABELS, z, sample_weight), [LOGITS])
    np.testing.assert_allclose(gradient, weights[..., None] * slope / total, atol=2e-6)
    assert not gradient[~PADDING].any()


def test_padding_id():
    every = TokenCrossEntropy(pad_id=None)
    expected, _ = ref.cross_entropy(LABELS, LOGITS)
    assert float(every(LABELS, LOGITS)) == pytest.approx(expected.mean(), rel=1e-5)
    pad_id = int(LABELS[0, 0])
    other, kept = TokenCrossEntropy(pad_id=pad_id), np.not_equal(LABELS, pad_id)
    assert float(other(LABELS, LOGITS)) == pytest.approx(expected[kept].mean(), rel=1e-5)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_padding_alone_gives_zero(reduction):
    loss, labels = TokenCrossEntropy(0.1, reduction=reduction), np.zeros((B, T), "int32")
    assert float(loss(labels, LOGITS)) == 0.0
    (gradient,) = checks.gradients(lambda z: loss(labels, z), [LOGITS])
    assert not gradient.any()
    assert float(loss(LABELS, LOGITS, np.zeros(B, "float32"))) == 0.0


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_logits_are_computed_in_float32(dtype):
    logits = ops.cast(LOGITS, dtype)
    loss = TokenCrossEntropy(0.1)
    value = checks.run(lambda z: loss(LABELS, z), logits)
    assert keras.backend.standardize_dtype(value.dtype) == "float32"
    losses, slope = ref.cross_entropy(LABELS, checks.numpy(logits), 0.1)
    assert float(value) == pytest.approx(losses[PADDING].mean(), rel=1e-5)
    (gradient,) = checks.gradients(lambda z: loss(LABELS, z), [logits])
    bits = 8 if dtype == "bfloat16" else 11
    np.testing.assert_allclose(gradient, PADDING[..., None] * slope / PADDING.sum(), rtol=2.0**-bits, atol=1e-6)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint16", "float32"])
def test_labels_of_any_dtype(dtype):
    expected = float(TokenCrossEntropy(0.1)(LABELS, LOGITS))
    assert float(TokenCrossEntropy(0.1)(LABELS.astype(dtype), LOGITS)) == pytest.approx(expected, rel=1e-6)


def slope_of(logits):
    return ops.sum(smoothed_cross_entropy(LABELS, logits, 0.1))


@checks.jax_only
def test_no_one_hot_on_jax():
    import jax

    program = jax.make_jaxpr(jax.grad(slope_of))(LOGITS)
    equations = list(_equations(program.jaxpr))
    assert len(equations) > 10
    for equation in equations:
        assert equation.primitive.name != "dot_general"
        for output in equation.outvars:
            size = int(np.prod(output.aval.shape))
            assert size <= B * T * V
            # Only floats may be as large as the logits.
            assert size < B * T * V or output.aval.dtype == "float32", equation


def _equations(jaxpr):
    for equation in jaxpr.eqns:
        yield equation
        for inner in equation.params.values():
            inner = getattr(inner, "jaxpr", inner)
            if hasattr(inner, "eqns"):
                yield from _equations(inner)


@checks.tensorflow_only
def test_no_one_hot_on_tensorflow():
    import tensorflow as tf

    @tf.function
    def gradient(logits):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            value = slope_of(logits)
        return tape.gradient(value, logits)

    operations = gradient.get_concrete_function(tf.TensorSpec(LOGITS.shape)).graph.get_operations()
    assert not {"OneHot", "MatMul", "BatchMatMulV2", "Equal"} & {operation.type for operation in operations}
    sizes = [output.shape.num_elements() or 0 for operation in operations for output in operation.outputs]
    assert max(sizes) == B * T * V


def test_fit_and_saved_files(tmp_path):
    model = keras.Sequential([keras.Input((None,), dtype="int32"), keras.layers.Embedding(V, V)])
    model.compile(optimizer=keras.optimizers.SGD(1.0), loss=TokenCrossEntropy(0.1, pad_id=0))
    ids = np.random.default_rng(3).integers(1, V, (B, T))
    logits = checks.numpy(model(ids))
    history = model.fit(ids, LABELS, sample_weight=ROW_WEIGHTS, batch_size=B, epochs=2, verbose=0)
    weights = PADDING * ROW_WEIGHTS[:, None]
    expected = (weights * ref.cross_entropy(LABELS, logits, 0.1)[0]).sum() / weights.sum()
    assert history.history["loss"][0] == pytest.approx(expected, rel=1e-5)
    assert history.history["loss"][1] < expected - 1e-3
    again = checks.reloaded(model, tmp_path)
    assert isinstance(again.loss, TokenCrossEntropy) and again.loss.get_config() == model.loss.get_config()


def test_config():
    loss = TokenCrossEntropy(0.2, pad_id=None, reduction="sum", name="own")
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(loss))
    assert type(again) is TokenCrossEntropy and again.get_config() == loss.get_config()
    assert (again.label_smoothing, again.pad_id, again.reduction, again.name) == (0.2, None, "sum", "own")


@pytest.mark.parametrize("smoothing", [-0.1, 1.0])
def test_smoothing_out_of_range_raises(smoothing):
    with pytest.raises(ValueError, match=rf"must lie in \[0, 1\). Received: label_smoothing={smoothing}"):
        TokenCrossEntropy(smoothing)


def test_unknown_reduction_raises():
    with pytest.raises(ValueError, match="must be 'mean' or 'sum'. Received: reduction='none'"):
        TokenCrossEntropy(reduction="none")


def test_shapes_that_do_not_fit_raise():
    for logits in (LOGITS[0], LOGITS[:, :-1], LOGITS[:1]):
        with pytest.raises(ValueError, match="`y_pred` must be logits .* Received: y_true.shape=") as error:
            TokenCrossEntropy()(LABELS, logits)
        assert str(logits.shape) in str(error.value)
    for weight in (np.ones((B, T - 1)), np.ones(T), np.ones((B, T, 2))):
        with pytest.raises(ValueError, match="`sample_weight` must have shape .* Received: sample_weight.shape="):
            TokenCrossEntropy()(LABELS, LOGITS, weight)
