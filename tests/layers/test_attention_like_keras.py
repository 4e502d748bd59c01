"""Tests of the attention layer against Keras's own: masks, arguments, configurations, conversion both ways."""

import functools
import inspect
import sys

import keras
import layer_checks as checks
import numpy as np
import pytest
from attention_checks import MEMORY, OUT, PADDING, PATTERN, QUERY, VALUE, VALUES, B, D, H, N, S, T
from keras import ops

from keras_transformer import MultiHeadAttention

NEW = {"sliding_window", "use_gate"} - inspect.signature(keras.layers.MultiHeadAttention).parameters.keys()
HEADS = np.random.default_rng(5).random((B, N, T, S)) < 0.5
HEADS[..., 0] = True


def theirs(**kwargs):
    layer = keras.layers.MultiHeadAttention(**{"num_heads": N, "key_dim": H, **kwargs})
    layer.build((B, T, D), (B, S, MEMORY))
    return checks.randomize(layer)


def assert_same(ours, other, *inputs, atol=2e-5, **call):
    """Compares outputs and weights; returning weights selects the code path of Keras that works on all backends."""

    def outputs(layer, *x):
        return layer(*x, return_attention_scores=True, **call)

    found = [checks.run(functools.partial(outputs, layer), *inputs) for layer in (ours, other)]
    for our, their in zip(*found):
        assert our.shape == their.shape
        np.testing.assert_allclose(checks.numpy(our), checks.numpy(their), atol=atol)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32"])
@pytest.mark.parametrize(
    "mask",
    [PATTERN[0], PATTERN, PATTERN[:, None], HEADS, HEADS[:1], PATTERN[:, :1]],
    ids=lambda mask: "x".join(map(str, mask.shape)),
)
def test_masks_of_all_shapes_and_dtypes(mask, dtype):
    layer = theirs(value_dim=VALUE)
    assert_same(MultiHeadAttention.from_keras(layer), layer, QUERY, VALUES, attention_mask=mask.astype(dtype))


def test_masks_of_heads_with_padding():
    """Compares each head alone, as Keras's layer confuses heads with rows if there is padding too."""
    layer = MultiHeadAttention.from_keras(theirs())
    _, scores = layer(QUERY, VALUES, value_mask=PADDING, attention_mask=HEADS, return_attention_scores=True)
    for head in range(N):
        call = {"attention_mask": HEADS[:, head], "return_attention_scores": True}
        _, alone = layer(QUERY, VALUES, value_mask=PADDING, **call)
        np.testing.assert_allclose(checks.numpy(scores)[:, head], checks.numpy(alone)[:, head], atol=1e-6)
    assert not checks.numpy(scores)[~np.broadcast_to(HEADS, scores.shape)].any()


@pytest.mark.parametrize(
    "kwargs",
    [
        {"use_bias": False},
        {"value_dim": VALUE, "output_shape": OUT},
        {"output_shape": (3, 4), "use_gate": True},
        {"sliding_window": 2},
        {"value_dim": VALUE, "use_gate": True, "sliding_window": 3},
    ],
    ids=lambda kwargs: "-".join(kwargs),
)
def test_conversion_both_ways(kwargs):
    if NEW & kwargs.keys():
        return check_that_options_are_refused(**kwargs)
    layer = theirs(**kwargs)
    ours = MultiHeadAttention.from_keras(layer)
    back = ours.to_keras()
    assert back.get_config() == layer.get_config()
    for weight, again in zip(layer.get_weights(), back.get_weights(), strict=True):
        np.testing.assert_array_equal(weight, again)
    for call in ({}, {"attention_mask": PATTERN}, {"use_causal_mask": True}):
        if not ("attention_mask" in call and "sliding_window" in kwargs):  # Queries without visible keys differ.
            assert_same(ours, layer, QUERY, VALUES, **call)


def check_that_options_are_refused(**kwargs):
    with pytest.raises(ValueError, match=f"of Keras {keras.__version__} has no `({'|'.join(NEW)})`"):
        MultiHeadAttention(N, H, **kwargs).to_keras()


def test_older_keras_refuses_options(monkeypatch):
    class Older(keras.layers.Layer):
        def __init__(self, num_heads, key_dim):
            super().__init__()

    monkeypatch.setattr(keras.layers, "MultiHeadAttention", Older)
    monkeypatch.setattr(sys.modules[__name__], "NEW", {"use_gate"})
    check_that_options_are_refused(use_gate=True)


def test_conversion_of_unbuilt_layers_and_of_other_weights():
    layer = keras.layers.MultiHeadAttention(N, H, kernel_regularizer="l2")
    assert not MultiHeadAttention.from_keras(layer).built
    assert not MultiHeadAttention(N, H).to_keras().built
    built = theirs()
    built.query_dense.enable_lora(2)
    with pytest.raises(ValueError, match="Only kernels and biases can be converted.*lora_kernel_a"):
        MultiHeadAttention.from_keras(built)


@pytest.mark.parametrize("axes", [None, (1,), (2,), (-2, 1)])
def test_attention_over_some_axes(axes):
    shape, memory = (
        (B, 2, 5, D),
        ((B, 2, 7, MEMORY) if axes == (2,) else (B, 3, 5, MEMORY) if axes == (1,) else (B, 3, 7, MEMORY)),
    )
    query, value = checks.array(*shape), checks.array(*memory, seed=1)
    layer = keras.layers.MultiHeadAttention(N, H, attention_axes=axes)
    layer.build(shape, memory)
    checks.randomize(layer)
    ours = MultiHeadAttention.from_keras(layer)
    assert_same(ours, layer, query, value)
    _, scores = layer(query, value, return_attention_scores=True)
    count = 1 if axes and len(axes) == 1 else 2
    mask = np.random.default_rng(1).random((B, *scores.shape[-2 * count :])) < 0.5
    mask.reshape(B, *scores.shape[-2 * count : -count], -1)[..., 0] = True
    assert_same(ours, layer, query, value, attention_mask=mask)
    assert_same(
        ours,
        layer,
        query,
        value,
        attention_mask=np.broadcast_to(mask[:, None] if count == 2 else mask[:, None, None], scores.shape),
    )
    assert ours.compute_output_shape(shape, memory) == shape
    assert ours(keras.Input(shape[1:]), keras.Input(memory[1:])).shape == (None, *shape[1:])
    with pytest.raises(ValueError, match="Caches and packed inputs need"):
        ours(query, value, cache=ours.init_cache(B, 5), cache_index=0)


def test_invalid_axes_raise():
    with pytest.raises(ValueError, match=r"`attention_axes` must be different axes .* attention_axes=\(3,\)"):
        MultiHeadAttention(N, H, attention_axes=3).build((B, 2, 5, D))


def test_regularizers_and_constraints():
    kwargs = {
        "kernel_regularizer": keras.regularizers.L2(0.1),
        "bias_regularizer": "l1",
        "activity_regularizer": keras.regularizers.L1(0.01),
        "kernel_constraint": "non_neg",
        "bias_constraint": keras.constraints.MaxNorm(0.5),
        **({} if NEW else {"use_gate": True}),
    }
    layer = theirs(**kwargs)
    ours = MultiHeadAttention.from_keras(layer)
    for each in (ours, layer):
        each(QUERY, VALUES)
    ours_sum, theirs_sum = (sum(float(checks.numpy(loss)) for loss in each.losses) for each in (ours, layer))
    assert len(ours.losses) == len(layer.losses) and ours_sum == pytest.approx(theirs_sum, rel=1e-5)
    for dense in (ours.query_dense, ours.key_dense, ours.value_dense, ours.output_dense):
        assert isinstance(dense.kernel_constraint, keras.constraints.NonNeg) and dense.bias_constraint.max_value == 0.5
    config = layer.get_config()
    again = MultiHeadAttention.from_config(config).get_config()
    assert {name: again[name] for name in config} == {**config, "output_shape": None}


def test_output_shapes():
    layer = MultiHeadAttention(N, H, output_shape=OUT)
    assert layer.compute_output_shape((None, None, D), (None, None, MEMORY)) == (None, None, OUT)
    outputs, scores = layer(keras.Input((T, D)), keras.Input((S, MEMORY)), return_attention_scores=True)
    assert outputs.shape == (None, T, OUT) and scores.shape == (None, N, T, S)


def test_one_step_gives_no_warning_and_has_gradients():
    layer = MultiHeadAttention(N, H)
    layer.build((B, 1, D))
    checks.randomize(layer)
    x = checks.array(B, 1, D)
    seen = np.array([True, False, True])[:, None]
    outputs, scores = layer(x, x, value_mask=seen, return_attention_scores=True)
    np.testing.assert_array_equal(checks.numpy(scores)[:, 0, 0, 0], seen[:, 0].astype("float32"))
    assert not checks.numpy(outputs)[1].any() and checks.numpy(outputs)[0].any()
    *_, kernel = checks.gradients(lambda x: ops.sum(layer(x, x) ** 2), [x], layer)[:2]
    assert not kernel.any()  # The query has no effect, yet it has a gradient, of zero.


def test_invalid_flash_attention_raises():
    with pytest.raises(ValueError, match="Flash attention cannot drop .* dropout=0.1"):
        MultiHeadAttention(N, H, dropout=0.1, flash_attention=True)
    layer = MultiHeadAttention(N, H, flash_attention=True)
    layer.build((B, T, D), (B, S, MEMORY))
    with pytest.raises(ValueError, match="Flash attention has no attention weights to return"):
        layer(QUERY, VALUES, return_attention_scores=True)
