"""Tests of the encoder block, with and without a causal mask."""

import keras
import layer_checks as checks
import numpy as np
import pytest
import reference as ref
from keras import ops

from keras_transformer import EncoderBlock

B, T, N, D, F = 3, 7, 2, 22, 13
X = checks.array(B, T, D)
PADDING = checks.lengths_mask((7, 2, 5), T)
PATTERN = np.random.default_rng(1).random((B, T, T)) < 0.6
PATTERN[:, :, 0] = True


def make(**kwargs):
    return EncoderBlock(**{"num_heads": N, "intermediate_dim": F, **kwargs})


def ready(**kwargs):
    layer = make(**kwargs)
    layer.build((B, T, D))
    return checks.randomize(layer)


@pytest.mark.parametrize("normalize_first", [False, True])
def test_equals_numpy(normalize_first):
    layer = ready(normalize_first=normalize_first)
    weights = ref.weights_of(layer)
    seen = PADDING[:, None]
    for call, mask in (
        ({}, None),
        ({"mask": PADDING}, seen),
        ({"mask": PADDING, "attention_mask": PATTERN}, seen & PATTERN),
        ({"inputs_mask": PADDING, "use_causal_mask": True}, seen & ref.causal(T, T)),
    ):
        expected = ref.encoder_block(X, weights, N, mask, normalize_first)
        np.testing.assert_allclose(checks.numpy(layer(X, **call)), expected, atol=2e-5)


@pytest.mark.parametrize("normalize_first", [False, True])
def test_epsilon_is_that_of_all_normalisations(normalize_first):
    layer = ready(normalize_first=normalize_first, epsilon=0.1)
    expected = ref.encoder_block(X, ref.weights_of(layer), N, None, normalize_first, epsilon=0.1)
    np.testing.assert_allclose(checks.numpy(layer(X)), expected, atol=2e-5)


def test_attached_masks_equal_explicit_ones_and_propagate():
    layer = ready()
    expected = checks.numpy(layer(X, mask=PADDING))
    for call in ({}, {"training": False}, {"use_causal_mask": False}):
        outputs = layer(checks.with_mask(X, PADDING), **call)
        np.testing.assert_array_equal(checks.numpy(outputs), expected)
        np.testing.assert_array_equal(checks.mask_of(outputs), PADDING)
    # A second tensor changes the argument in which Keras passes the mask.
    outputs = layer(checks.with_mask(X, PADDING), attention_mask=np.ones((1, T, T), bool))
    np.testing.assert_allclose(checks.numpy(outputs), expected, atol=1e-6)
    np.testing.assert_array_equal(checks.mask_of(outputs), PADDING)
    np.testing.assert_array_equal(checks.numpy(layer(X, inputs_mask=PADDING)), expected)
    np.testing.assert_array_equal(checks.numpy(layer(checks.with_mask(X, ~PADDING), mask=PADDING)), expected)
    np.testing.assert_array_equal(checks.mask_of(layer(X, mask=PADDING)), PADDING)


def test_later_steps_change_nothing_under_a_causal_mask():
    layer, changed = ready(), X.copy()
    changed[:, 4:] += 1.0
    before, after = (checks.numpy(layer(x, use_causal_mask=True)) for x in (X, changed))
    np.testing.assert_array_equal(before[:, :4], after[:, :4])
    assert (np.abs(before[:, 4:] - after[:, 4:]).max(-1) > 1e-3).all()


@pytest.mark.parametrize("normalize_first", [False, True])
def test_step_by_step_equals_the_causal_pass(normalize_first):
    layer = ready(normalize_first=normalize_first)
    full = checks.numpy(layer(X, use_causal_mask=True))
    cache, index = layer.init_cache(B, T), 0
    step = checks.compiled(lambda x, cache, index: layer(x, cache=cache, cache_index=index))
    for steps in (3, 1, 1, 1, 1):
        chunk = slice(index, index + steps)
        outputs, cache = step(X[:, chunk], cache, ops.convert_to_tensor(index, "int32"))
        np.testing.assert_allclose(checks.numpy(outputs), full[:, chunk], atol=1e-5)
        index += steps


def test_masks_of_cached_steps_change_nothing():
    layer = ready()
    call = {"cache": layer.init_cache(B, T), "cache_index": 0}
    expected, _ = layer(X[:, :3], **call)
    outputs, _ = layer(checks.with_mask(X[:, :3], np.zeros((B, 3), bool)), **call)
    np.testing.assert_allclose(checks.numpy(outputs), checks.numpy(expected), atol=1e-6)


@pytest.mark.parametrize("name", ["dropout", "attention_dropout", "activation_dropout"])
def test_each_dropout_applies_in_training_only(name):
    layer, plain = ready(**{name: 0.5}), ready()
    expected = checks.numpy(plain(X))
    np.testing.assert_array_equal(checks.numpy(layer(X)), expected)
    assert np.abs(checks.numpy(layer(X, training=True)) - expected).max() > 1e-2


def test_subclass_replaces_the_feed_forward_layer():
    class Squared(EncoderBlock):
        def _make_feed_forward(self):
            return keras.layers.Dense(D, activation="tanh", name="feed_forward")

    layer = Squared(N, F)
    layer.build((B, T, D))
    assert layer(X).shape == (B, T, D) and layer.feed_forward.kernel.shape == (D, D)


def test_layer_rules(tmp_path):
    kwargs = {"dropout": 0.1, "attention_dropout": 0.2, "activation_dropout": 0.3, "activation": "gelu"}
    checks.check_layer(lambda **k: make(**kwargs, normalize_first=True, epsilon=1e-5, **k), X, half_tolerance=0.2)
    checks.check_saving(make, X, folder=tmp_path, use_causal_mask=True)


@pytest.mark.parametrize("shape", [(B, T, 23), (B, T, None), (B, D)])
def test_widths_that_heads_do_not_divide_raise(shape):
    with pytest.raises(ValueError, match="width divisible by num_heads=2. Received: inputs_shape=") as error:
        make().build(shape)
    assert str(shape) in str(error.value)


def test_invalid_sizes_raise():
    with pytest.raises(ValueError, match="`intermediate_dim` must be a positive integer"):
        make(intermediate_dim=0)
    with pytest.raises(ValueError, match="`num_heads` must be a positive integer. Received: num_heads=0"):
        make(num_heads=0)


def test_masks_of_the_wrong_type_or_shape_raise():
    layer = ready()
    for dtype in ("int32", "float32"):
        with pytest.raises(ValueError, match=f"must be boolean .*dtype={dtype}"):
            layer(X, mask=PADDING.astype(dtype))
        with pytest.raises(ValueError, match=f"`attention_mask` must be boolean or hold 0 and 1.*dtype={dtype}"):
            layer(X, attention_mask=PATTERN.astype(dtype) * 2)
    with pytest.raises(ValueError, match=r"must have shape \[3, 7\]. Received: shape=\(3, 6\)"):
        layer(X, mask=PADDING[:, 1:])
    with pytest.raises(
        ValueError, match=r"`attention_mask` must have shape .*\[3, 7, 7\] or \[7, 7\]. Received: shape=\(3, 7\)"
    ):
        layer(X, attention_mask=PADDING)
