"""Tests of the decoder block: causal self-attention and cross-attention, with and without a cache."""

import layer_checks as checks
import numpy as np
import pytest
import reference as ref
from keras import ops

from keras_transformer import BlockCache, DecoderBlock

B, T, S, K, N, D, MEMORY, F = 3, 5, 7, 2, 2, 22, 19, 13
X, VECTORS = checks.array(B, T, D), checks.array(B, S, MEMORY, seed=1)
PADDING, SOURCE_PADDING = checks.lengths_mask((5, 3, 4), T), checks.lengths_mask((7, 2, 5), S)


def make(**kwargs):
    return DecoderBlock(**{"num_heads": N, "intermediate_dim": F, **kwargs})


def ready(**kwargs):
    layer = make(**kwargs)
    layer.build((B, T, D), (B, S, MEMORY))
    return checks.randomize(layer)


@pytest.mark.parametrize("normalize_first", [False, True])
def test_equals_numpy(normalize_first):
    layer = ready(normalize_first=normalize_first)
    weights, causal = ref.weights_of(layer), ref.causal(T, T)
    of_source = SOURCE_PADDING[:, None]
    for call, mask, memory_mask in (
        ({}, causal, None),
        ({"use_causal_mask": False}, None, None),
        ({"inputs_mask": PADDING, "memory_mask": SOURCE_PADDING}, PADDING[:, None] & causal, of_source),
        ({"mask": PADDING, "use_causal_mask": False}, PADDING[:, None], None),
    ):
        expected = ref.decoder_block(X, VECTORS, weights, N, mask, memory_mask, normalize_first)
        np.testing.assert_allclose(checks.numpy(layer(X, VECTORS, **call)), expected, atol=2e-5)


@pytest.mark.parametrize("normalize_first", [False, True])
def test_scores_are_those_of_the_cross_attention(normalize_first):
    layer = ready(normalize_first=normalize_first)
    outputs, scores = layer(X, VECTORS, memory_mask=SOURCE_PADDING, return_attention_scores=True)
    np.testing.assert_array_equal(checks.numpy(outputs), checks.numpy(layer(X, VECTORS, memory_mask=SOURCE_PADDING)))
    weights = ref.weights_of(layer)

    def attend(x):
        return ref.multi_head_attention(x, x, ref.part(weights, "self_attention"), N, ref.causal(T, T))[0]

    x = ref.sublayer(X, attend, ref.part(weights, "self_attention_residual"), normalize_first)
    if normalize_first:
        x = ref.layer_norm(x, ref.part(weights, "cross_attention_residual/norm"))
    cross = ref.part(weights, "cross_attention")
    _, expected = ref.multi_head_attention(x, VECTORS, cross, N, SOURCE_PADDING[:, None])
    np.testing.assert_allclose(checks.numpy(scores.cross_attention), expected, atol=1e-5)


def test_attached_masks_equal_explicit_ones_and_propagate():
    layer = ready()
    expected = checks.numpy(layer(X, VECTORS, inputs_mask=PADDING, memory_mask=SOURCE_PADDING))
    x, memory = checks.with_mask(X, PADDING), checks.with_mask(VECTORS, SOURCE_PADDING)
    for _ in range(2):  # If the first block deleted the mask of the memory, the second would ignore it.
        outputs = layer(x, memory)
        np.testing.assert_array_equal(checks.numpy(outputs), expected)
        np.testing.assert_array_equal(checks.mask_of(outputs), PADDING)
        np.testing.assert_array_equal(checks.mask_of(memory), SOURCE_PADDING)
        np.testing.assert_array_equal(checks.mask_of(x), PADDING)
    outputs = layer(X, memory, mask=PADDING)
    np.testing.assert_array_equal(checks.numpy(outputs), expected)
    np.testing.assert_array_equal(checks.mask_of(outputs), PADDING)
    swapped = layer(checks.with_mask(X, ~PADDING), memory, inputs_mask=PADDING)
    np.testing.assert_array_equal(checks.numpy(swapped), expected)


def test_later_steps_change_nothing():
    layer, changed = ready(), X.copy()
    changed[:, 3:] += 1.0
    before, after = (checks.numpy(layer(x, VECTORS)) for x in (X, changed))
    np.testing.assert_array_equal(before[:, :3], after[:, :3])
    assert (np.abs(before[:, 3:] - after[:, 3:]).max(-1) > 1e-3).all()


@pytest.mark.parametrize("normalize_first, beams", [(False, 1), (False, K), (True, K)])
def test_step_by_step_equals_the_full_pass(normalize_first, beams):
    layer, x = ready(normalize_first=normalize_first), checks.array(B * beams, T, D)
    rows = np.repeat(np.arange(B), beams)
    full = checks.numpy(layer(x, VECTORS[rows], memory_mask=SOURCE_PADDING[rows]))
    cache, index = layer.init_cache(ops.convert_to_tensor(VECTORS), T, beams), 0
    assert isinstance(cache, BlockCache) and cache.cross_attention.key.shape == (B * N, S, D // N)

    def step(x, cache, index):
        return layer(
            x,
            memory_mask=ops.convert_to_tensor(SOURCE_PADDING),
            attention_mask=checks.mask_of_beams(B, T, beams),
            cache=cache,
            cache_index=index,
        )

    step = checks.compiled(step)
    for steps in (2, 1, 1, 1) if beams == 1 else (1,) * T:
        chunk = slice(index, index + steps)
        outputs, cache = step(x[:, chunk], cache, ops.convert_to_tensor(index, "int32"))
        np.testing.assert_allclose(checks.numpy(outputs), full[:, chunk], atol=1e-5)
        index += steps


def test_row_of_padding_alone_gives_finite_outputs_and_gradients():
    layer, empty = ready(), SOURCE_PADDING.copy()
    empty[1] = False

    def loss(x, memory):
        return ops.sum(layer(x, memory, memory_mask=empty) ** 2)

    of_x, of_memory, *of_weights = checks.gradients(loss, [X, VECTORS], layer)
    assert all(np.isfinite(g).all() for g in (of_x, *of_weights)) and of_x[1].any()
    assert not of_memory[1].any() and of_memory[0].any()


def test_layer_rules(tmp_path):
    kwargs = {"dropout": 0.1, "attention_dropout": 0.2, "activation_dropout": 0.3, "activation": "gelu"}
    checks.check_layer(lambda **k: make(**kwargs, normalize_first=True, **k), X, VECTORS, half_tolerance=0.2)
    checks.check_saving(make, X, VECTORS, folder=tmp_path)


def test_neither_or_both_of_memory_and_cache_raise():
    layer = ready()
    cache = layer.init_cache(ops.convert_to_tensor(VECTORS), T)
    with pytest.raises(ValueError, match="Exactly one .* Received: memory=None, cache=None"):
        layer(X)
    with pytest.raises(ValueError, match="Exactly one .* Received: memory=a tensor, cache=a cache"):
        layer(X, VECTORS, cache=cache, cache_index=0)


@pytest.mark.parametrize("shape", [(B, T, 23), (B, T, None)])
def test_widths_that_heads_do_not_divide_raise(shape):
    with pytest.raises(ValueError, match="width divisible by num_heads=2. Received: inputs_shape="):
        make().build(shape, (B, S, MEMORY))


def test_masks_of_the_wrong_type_or_shape_raise():
    layer = ready()
    for dtype in ("int32", "float32"):
        with pytest.raises(ValueError, match=f"must be boolean .*dtype={dtype}"):
            layer(X, VECTORS, inputs_mask=PADDING.astype(dtype))
        with pytest.raises(ValueError, match=f"must be boolean .*dtype={dtype}"):
            layer(X, VECTORS, memory_mask=SOURCE_PADDING.astype(dtype))
    with pytest.raises(ValueError, match=r"must have shape \[3, 7\]. Received: shape=\(3, 5\)"):
        layer(X, VECTORS, memory_mask=PADDING)
    with pytest.raises(ValueError, match=r"must have shape \[3, 5\]. Received: shape=\(3, 7\)"):
        layer(X, VECTORS, inputs_mask=SOURCE_PADDING)
