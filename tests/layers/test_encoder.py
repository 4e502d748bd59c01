"""Tests of the encoder stack, and of padding in deep stacks."""

import inspect

import keras
import layer_checks as checks
import numpy as np
import pytest
import reference as ref
from keras import ops

from keras_transformer import Decoder, Encoder, EncoderBlock

B, T, N, D, F, VOCABULARY = 3, 5, 2, 14, 11, 29
DEEP = 3  # The first block, one between two others, and the last.
X = checks.array(B, T, D)
PADDING = checks.lengths_mask((5, 2, 4), T)
# The second sentence is shorter than the others; 3 more steps of padding must change nothing.
IDS = np.random.default_rng(2).integers(1, VOCABULARY, (B, T)) * PADDING
PADDED = np.pad(IDS, ((0, 0), (0, 3)))


def make(num_layers=2, **kwargs):
    return Encoder(num_layers, **{"num_heads": N, "intermediate_dim": F, **kwargs})


def ready(**kwargs):
    layer = make(**kwargs)
    layer.build((B, T, D))
    return checks.randomize(layer)


@pytest.mark.parametrize("normalize_first", [False, True])
def test_equals_numpy(normalize_first):
    layer = ready(num_layers=3, normalize_first=normalize_first)
    assert (layer.norm is not None) is normalize_first
    weights, seen = ref.weights_of(layer), PADDING[:, None]
    for call, mask in (
        ({}, None),
        ({"mask": PADDING}, seen),
        ({"inputs_mask": PADDING, "attention_mask": np.eye(T)[None] > 0}, seen & (np.eye(T)[None] > 0)),
        ({"use_causal_mask": True}, ref.causal(T, T)),
    ):
        expected = ref.encoder(X, weights, 3, N, mask, normalize_first)
        np.testing.assert_allclose(checks.numpy(layer(X, **call)), expected, atol=1e-4)


def test_attached_masks_equal_explicit_ones_and_propagate():
    layer = ready(num_layers=DEEP)
    expected = checks.numpy(layer(X, mask=PADDING))
    assert np.abs(checks.numpy(layer(X)) - expected).max() > 1e-2
    for outputs in (
        layer(checks.with_mask(X, PADDING)),
        layer(checks.with_mask(X, PADDING), attention_mask=np.ones((1, T, T), bool)),
        layer(X, mask=PADDING),
        layer(checks.with_mask(X, ~PADDING), mask=PADDING),
    ):
        np.testing.assert_allclose(checks.numpy(outputs), expected, atol=1e-6)
    np.testing.assert_array_equal(checks.mask_of(layer(checks.with_mask(X, PADDING))), PADDING)
    np.testing.assert_array_equal(checks.mask_of(layer(X, mask=PADDING)), PADDING)
    np.testing.assert_array_equal(checks.numpy(layer(X, inputs_mask=PADDING)), expected)


# Padding in deep stacks.


class Tagger(keras.Model):
    """Maps ids to vectors; the embedding attaches the mask."""

    def __init__(self, **kwargs):
        super().__init__()
        self.table = keras.layers.Embedding(VOCABULARY, D, mask_zero=True)
        self.encoder = make(DEEP, **kwargs)

    def call(self, ids):
        return self.encoder(self.table(ids))


def functional():
    layers, ids = Tagger(), keras.Input((None,), dtype="int32")
    return keras.Model(ids, layers.call(ids))


def assert_padding_changes_nothing(model):
    plain, padded = (checks.numpy(model(ops.convert_to_tensor(ids))) for ids in (IDS, PADDED))
    assert padded.shape == (B, T + 3, D)
    np.testing.assert_allclose(padded[:, :T][PADDING], plain[PADDING], atol=1e-5)


@pytest.mark.parametrize("normalize_first", [False, True])
def test_padding_changes_nothing_eagerly_and_compiled(normalize_first):
    model = Tagger(normalize_first=normalize_first)
    assert_padding_changes_nothing(model.call)
    assert_padding_changes_nothing(model)
    if not normalize_first:
        assert_padding_changes_nothing(checks.compiled(model))
    # Each sentence alone, without any padding.
    outputs = checks.numpy(model(ops.convert_to_tensor(PADDED)))
    for row, ids in zip(outputs, IDS):
        alone = checks.numpy(model(ops.convert_to_tensor(ids[None, ids != 0])))[0]
        np.testing.assert_allclose(row[: len(alone)], alone, atol=1e-5)


def test_padding_changes_nothing_in_a_functional_model(tmp_path):
    model = functional()
    assert_padding_changes_nothing(model)
    again = checks.reloaded(model, tmp_path)
    assert_padding_changes_nothing(again)
    ids = ops.convert_to_tensor(IDS)
    np.testing.assert_allclose(checks.numpy(again(ids)), checks.numpy(model(ids)), atol=1e-6)


# Cache.


@pytest.mark.parametrize("normalize_first", [False, True])
def test_step_by_step_equals_the_causal_pass(normalize_first):
    layer = ready(normalize_first=normalize_first)
    full = checks.numpy(layer(X, use_causal_mask=True))
    cache, index = layer.init_cache(B, T), 0
    assert len(cache) == 2 and cache[0].key.shape == (B * N, T, D // N)
    step = checks.compiled(lambda x, cache, index: layer(x, cache=cache, cache_index=index))
    for steps in (2, 1, 1, 1):
        chunk = slice(index, index + steps)
        outputs, cache = step(X[:, chunk], cache, ops.convert_to_tensor(index, "int32"))
        np.testing.assert_allclose(checks.numpy(outputs), full[:, chunk], atol=1e-5)
        index += steps


# Other properties.


def test_stack_with_another_block_class():
    class Wide(EncoderBlock):
        def _make_feed_forward(self):
            return keras.layers.Dense(D, name="feed_forward")

    class WideEncoder(Encoder):
        block_class = Wide

    layer = WideEncoder(2, N, F)
    assert layer(X).shape == (B, T, D) and all(type(block) is Wide for block in layer.blocks)


@pytest.mark.parametrize("stack", [Encoder, Decoder])
def test_signatures_show_the_arguments_of_the_blocks(stack):
    """Editors and generated documentation read them; stack and block must agree on names and defaults."""
    shown = dict(inspect.signature(stack).parameters)
    for name, parameter in inspect.signature(stack.block_class).parameters.items():
        assert shown[name].default == parameter.default and shown[name].kind == parameter.kind


@pytest.mark.parametrize("normalize_first", [False, True])
@pytest.mark.parametrize("policy", ["mixed_float16", "float16"])
def test_large_inputs_train_in_float16(policy, normalize_first):
    """Products of inputs of a thousand are no numbers of float16."""
    keras.utils.set_random_seed(1)
    inputs, x = keras.Input((T, D)), 1e3 * checks.array(B, T, D)
    outputs = Encoder(2, N, F, normalize_first=normalize_first, dtype=policy)(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1, dtype="float32")(outputs))
    model.compile("sgd" if policy == "float16" else keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD()), "mse")
    before = model.get_weights()
    losses = model.fit(x, np.ones((B, T, 1)), epochs=3, verbose=0).history["loss"]
    assert np.isfinite(losses).all() and losses[-1] < losses[0]
    after = model.get_weights()
    assert all(np.isfinite(weight).all() for weight in after)
    assert any(np.any(one != other) for one, other in zip(before, after))


def test_layer_rules(tmp_path):
    kwargs = {"dropout": 0.1, "attention_dropout": 0.2, "activation_dropout": 0.3, "activation": "gelu"}
    checks.check_layer(lambda **k: make(**kwargs, normalize_first=True, epsilon=1e-5, **k), X, half_tolerance=0.3)
    checks.check_saving(lambda **k: make(1, normalize_first=True, **k), X, folder=tmp_path)


@pytest.mark.parametrize("count", [0, -1, 2.0])
def test_invalid_num_layers_raise(count):
    with pytest.raises(ValueError, match=f"`num_layers` must be a positive integer. Received: num_layers={count}"):
        make(count)


def test_errors_of_the_blocks_are_raised():
    with pytest.raises(ValueError, match="`num_heads` must be a positive integer. Received: num_heads=0"):
        make(num_heads=0)
    with pytest.raises(ValueError, match="width divisible by num_heads=2"):
        make().build((B, T, 7))
    with pytest.raises(ValueError, match="must be boolean"):
        ready()(X, mask=PADDING.astype("int32"))
