"""Tests of multi-head attention against NumPy and Keras, and of its masks."""

import functools
import inspect

import keras
import layer_checks as checks
import numpy as np
import pytest
import reference as ref
from attention_checks import (
    MEMORY,
    OUT,
    PADDING,
    PATTERN,
    QUERY,
    VALUES,
    B,
    D,
    H,
    N,
    S,
    T,
    call_numpy,
    make,
    ready,
)
from keras import ops

from keras_transformer import MultiHeadAttention

VOCABULARY = 29


@pytest.mark.parametrize("method", ["__init__", "call"])
def test_arguments_in_the_order_of_keras(method):
    theirs = list(inspect.signature(getattr(keras.layers.MultiHeadAttention, method)).parameters.values())
    ours = list(inspect.signature(getattr(MultiHeadAttention, method)).parameters.values())
    theirs, ours = ([p for p in ps if p.kind is p.POSITIONAL_OR_KEYWORD] for ps in (theirs, ours))
    if method == "__init__":  # Keras before 3.15 does not have all.
        new = {"sliding_window", "use_gate"} - {p.name for p in theirs}
        ours = [p for p in ours if p.name not in new]
    assert [p.name for p in ours[: len(theirs)]] == [p.name for p in theirs]
    for our, their in zip(ours, theirs):
        assert our.default == their.default or (our.name == "value" and our.default is None)
    if method == "__init__":
        assert len(ours) == len(theirs)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"value_mask": PADDING},
        {"attention_mask": PATTERN},
        {"value_mask": PADDING, "attention_mask": PATTERN[:1], "use_causal_mask": True},
    ],
    ids=lambda arguments: "-".join(arguments) or "plain",
)
def test_equals_numpy(arguments):
    layer = ready(output_shape=OUT)
    mask = np.ones((B, T, S), bool)
    if "value_mask" in arguments:
        mask &= PADDING[:, None]
    if "attention_mask" in arguments:
        mask &= arguments["attention_mask"]
    if "use_causal_mask" in arguments:
        mask &= ref.causal(T, S)

    def both(query, value):
        return *layer(query, value, return_attention_scores=True, **arguments), layer(query, value, **arguments)

    outputs, scores, alone = checks.run(both, QUERY, VALUES)
    expected, expected_scores = call_numpy(layer, QUERY, VALUES, mask)
    assert outputs.shape == (B, T, OUT) and keras.backend.standardize_dtype(scores.dtype) == "float32"
    np.testing.assert_allclose(checks.numpy(outputs), expected, atol=1e-5)
    np.testing.assert_allclose(checks.numpy(scores), expected_scores, atol=1e-6)
    np.testing.assert_array_equal(checks.numpy(alone), checks.numpy(outputs))


def test_separate_keys_with_a_mask_of_their_own():
    layer, keys = ready(key_width=OUT), checks.array(B, S, OUT, seed=3)
    key_mask = checks.lengths_mask((4, 7, 6), S)
    outputs = layer(QUERY, VALUES, keys, value_mask=PADDING, key_mask=key_mask)
    expected, _ = call_numpy(layer, QUERY, VALUES, (PADDING & key_mask)[:, None], keys)
    np.testing.assert_allclose(checks.numpy(outputs), expected, atol=1e-5)


def test_queries_that_one_head_leaves_without_keys():
    """The heads that see keys contribute to the output, with its bias; without any, the output is zero."""
    mask = np.repeat(PATTERN[:, None], N, axis=1)
    mask[:, 0, 1] = mask[0, :, 3] = False
    layer = ready()
    expected, _ = call_numpy(layer, QUERY, VALUES, mask)
    assert expected[:, 1].any() and not expected[0, 3].any()
    np.testing.assert_allclose(checks.numpy(layer(QUERY, VALUES, attention_mask=mask)), expected, atol=1e-5)


@pytest.mark.parametrize("use_bias", [True, False])
def test_same_numbers_as_keras_given_its_weights(use_bias):
    # Keras's layer fails on JAX where values have another width than keys.
    arguments = {"num_heads": N, "key_dim": H, "use_bias": use_bias, "output_shape": OUT}
    theirs = keras.layers.MultiHeadAttention(**arguments)
    theirs.build((B, T, D), (B, S, MEMORY))
    checks.randomize(theirs)
    ours = MultiHeadAttention(**arguments)
    ours.build((B, T, D), (B, S, MEMORY))
    shapes = [w.shape for w in ours.weights]
    ours.set_weights([w.reshape(s) for w, s in zip(theirs.get_weights(), shapes, strict=True)])

    def outputs(layer, query, value):
        call = {"attention_mask": PATTERN, "value_mask": PADDING, "return_attention_scores": True}
        return *layer(query, value, **call), layer(query, value, use_causal_mask=True)

    for our, their in zip(*[checks.run(functools.partial(outputs, x), QUERY, VALUES) for x in (ours, theirs)]):
        np.testing.assert_allclose(checks.numpy(our), checks.numpy(their), atol=1e-5)


def test_initial_weights_have_the_fans_of_a_matrix():
    """Glorot initialisation of a `[D, N, H]` kernel would make the projections about four times too small."""
    layer = MultiHeadAttention(8, 32)
    layer.build((None, None, 256), (None, None, 256))
    for dense in (layer.query_dense, layer.key_dense, layer.value_dense, layer.output_dense):
        assert np.std(dense.kernel.numpy()) == pytest.approx((2 / 512) ** 0.5, rel=0.02)
    assert np.any(layer.query_dense.kernel.numpy() != layer.key_dense.kernel.numpy())


# Masks of the inputs, which Keras's own layer deletes.


class Attending(keras.Model):
    """Returns the masks of query and value after attention between them."""

    def __init__(self):
        super().__init__()
        self.query_table = keras.layers.Embedding(VOCABULARY, D, mask_zero=True)
        self.value_table = keras.layers.Embedding(VOCABULARY, MEMORY, mask_zero=True)
        self.attention, self.probe = make(), checks.MaskProbe()

    def call(self, inputs):
        query, value = self.query_table(inputs[0]), self.value_table(inputs[1])
        attended = self.attention(query, value)
        return [self.probe(query, attended), self.probe(value, attended), self.probe(attended, query)]


def functional():
    layers = Attending()
    inputs = [keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")]
    return keras.Model(inputs, layers.call(inputs))


@pytest.mark.parametrize("model", ["eager", "functional", "subclassed"])
@pytest.mark.parametrize("execution", ["direct", "compiled"])
def test_masks_of_the_inputs_are_kept(model, execution):
    ids = [np.array([[5, 3, 0, 0, 0], [1, 2, 3, 4, 5]]), np.array([[4, 0, 0, 0, 0, 0, 0], [1] * 6 + [0]])]
    run = {"eager": Attending().call, "functional": None, "subclassed": None}[model]
    run = run or (functional() if model == "functional" else Attending())
    if execution == "compiled":
        run([ops.convert_to_tensor(x) for x in ids])  # Builds.
        run = checks.compiled(run)
    of_query, of_value, of_outputs = run([ops.convert_to_tensor(x) for x in ids])
    np.testing.assert_array_equal(checks.numpy(of_query), ids[0] != 0)
    np.testing.assert_array_equal(checks.numpy(of_value), ids[1] != 0)
    np.testing.assert_array_equal(checks.numpy(of_outputs), ids[0] != 0)


def test_attached_masks_hide_keys_and_not_queries():
    layer = ready()
    query = checks.with_mask(QUERY, checks.lengths_mask((5, 3, 1), T))
    attached = checks.numpy(layer(query, checks.with_mask(VALUES, PADDING)))
    np.testing.assert_array_equal(attached, checks.numpy(layer(QUERY, VALUES, value_mask=PADDING)))
    np.testing.assert_allclose(attached, call_numpy(layer, QUERY, VALUES, PADDING[:, None])[0], atol=1e-5)
    explicit = layer(QUERY, checks.with_mask(VALUES, ~PADDING), value_mask=PADDING)
    np.testing.assert_array_equal(checks.numpy(explicit), attached)


# Queries that see no key.


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_queries_without_visible_keys_give_zeros_and_no_gradient(dtype, dropout):
    layer = ready(dtype=dtype, dropout=dropout)
    padding, pattern = PADDING.copy(), PATTERN.copy()
    padding[1], pattern[0, 2] = False, False
    hidden = ~(padding[:, None] & pattern).any(-1)
    assert hidden.sum() == T + 1
    call = {"value_mask": padding, "attention_mask": pattern, "training": bool(dropout)}

    def both(query, value):
        return layer(query, value, return_attention_scores=True, **call)

    outputs, scores = (checks.numpy(x) for x in checks.run(both, QUERY, VALUES))
    assert not outputs[hidden].any() and not scores.transpose(0, 2, 1, 3)[hidden].any()
    assert np.isfinite(outputs).all() and outputs[~hidden].any(-1).all()

    def loss(query, value):
        outputs, scores = layer(query, value, return_attention_scores=True, **call)
        outputs = ops.where(hidden[:, :, None], ops.cast(outputs, "float32"), 0.0)
        scores = ops.where(hidden[:, None, :, None], scores, 0.0)
        return ops.sum(outputs * 3.0) + ops.sum(scores * 5.0)

    assert not any(g.any() for g in checks.gradients(loss, [QUERY, VALUES], layer))
    if dropout:
        return

    def whole(query, value):
        return ops.sum(ops.cast(layer(query, value, **call), "float32") ** 2)

    of_query, of_value, *of_weights = checks.gradients(whole, [QUERY, VALUES], layer)
    assert not of_query[hidden].any() and not of_value[1].any()
    assert of_query[~hidden].any() and all(np.isfinite(g).all() for g in (of_query, of_value, *of_weights))


# Scores.


@pytest.mark.parametrize("training", [False, True])
def test_scores_are_the_softmax_before_dropout(training):
    layer = ready(dropout=0.5, seed=1)
    outputs, scores = layer(QUERY, VALUES, return_attention_scores=True, training=training)
    expected, expected_scores = call_numpy(layer, QUERY, VALUES)
    np.testing.assert_allclose(checks.numpy(scores), expected_scores, atol=1e-6)
    same = np.allclose(checks.numpy(outputs), expected, atol=1e-5)
    assert same is not training, "attention dropout works in training and only there"


# Other properties.


def test_layer_rules():
    kwargs = {"dropout": 0.1, "kernel_initializer": "he_normal", "seed": 5}
    checks.check_layer(lambda **k: make(**kwargs, **k), QUERY, VALUES)
    assert MultiHeadAttention.from_config(make(output_shape=OUT).get_config()).get_config()["output_shape"] == OUT


def test_saving(tmp_path):
    checks.check_saving(make, QUERY, VALUES, folder=tmp_path, use_causal_mask=True)


@pytest.mark.parametrize("name", ["num_heads", "key_dim", "value_dim", "sliding_window"])
@pytest.mark.parametrize("size", [0, -1, 2.5, True])
def test_sizes_must_be_positive_integers(name, size):
    with pytest.raises(ValueError, match=f"`{name}` must be a positive integer. Received: {name}={size}"):
        make(**{name: size})


def test_unknown_widths_raise():
    with pytest.raises(
        ValueError, match=r"`query` must have shape .* known width. Received: query_shape=\(3, 5, None\)"
    ):
        make().build((B, T, None))
    with pytest.raises(ValueError, match=r"`value` must have shape .* Received: value_shape=\(3, 7\)"):
        make().build((B, T, D), (B, S))


def test_missing_value_raises():
    with pytest.raises(ValueError, match="`value` is required unless a `cache` is read"):
        ready(value_width=D)(QUERY)


@pytest.mark.parametrize("name, shape", [("value_mask", (B, S)), ("key_mask", (B, S)), ("attention_mask", (B, T, S))])
def test_masks_of_the_wrong_type_or_shape_raise(name, shape):
    layer = ready()
    for dtype in ("int32", "float32"):
        wrong, message = np.ones(shape, dtype), f"`{name}` must be boolean .*dtype={dtype}"
        if name == "attention_mask":
            wrong, message = wrong - 2, f"{message}, values from -1"
        with pytest.raises(ValueError, match=message):
            layer(QUERY, VALUES, **{name: wrong})
    for wrong in (shape[:-1], (*shape[:-1], 2), (2, *shape[1:])):
        with pytest.raises(ValueError, match=f"`{name}` must have shape"):
            layer(QUERY, VALUES, **{name: np.ones(wrong, bool)})
