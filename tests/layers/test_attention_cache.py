"""Tests of the cache of multi-head attention against a call on the whole sequence."""

import layer_checks as checks
import numpy as np
import pytest
from attention_checks import PADDING, VALUE, VALUES, B, D, H, K, N, S, T, call_numpy, ready
from keras import ops

from keras_transformer import KVCache


def test_decoding_step_by_step_equals_the_causal_pass():
    layer, x = ready(value_width=D), checks.array(B, S, D)
    full, scores = layer(x, x, use_causal_mask=True, return_attention_scores=True)
    full, scores = checks.numpy(full), checks.numpy(scores)
    cache = layer.init_cache(B, S)
    assert cache.key.shape == (B * N, S, H) and cache.value.shape == (B * N, S, VALUE)

    def step(x, cache, index):
        return layer(x, x, cache=cache, cache_index=index, return_attention_scores=True)

    step, index = checks.compiled(step), 0
    for steps in (2, 1, 1, 3):  # A prompt of two steps, then single steps, then three at once.
        chunk = slice(index, index + steps)
        outputs, now, cache = step(x[:, chunk], cache, ops.convert_to_tensor(index, "int32"))
        np.testing.assert_allclose(checks.numpy(outputs), full[:, chunk], atol=1e-5)
        np.testing.assert_allclose(checks.numpy(now), scores[:, :, chunk], atol=1e-6)
        index += steps
        assert not checks.numpy(cache.key)[:, index:].any()
    projected = layer.project(x)
    for written, whole in zip(cache, projected):
        np.testing.assert_allclose(checks.numpy(written), checks.numpy(whole), atol=1e-6)


@pytest.mark.parametrize("steps", [1, 3])
def test_masks_of_new_steps_are_not_applied_to_the_cache(steps):
    """Steps from an `Embedding(mask_zero=True)` carry a mask; the cache has more steps than they have."""
    layer, x = ready(value_width=D), checks.array(B, steps, D)
    empty = layer.init_cache(B, S)
    expected = checks.run(lambda x: layer(x, x, cache=empty, cache_index=0), x)

    def step(x, mask, cache):
        masked = checks.with_mask(x, mask)
        return layer(masked, masked, cache=cache, cache_index=0)

    for function in (step, checks.compiled(step)):
        outputs, cache = function(x, np.zeros((B, steps), bool), empty)
        np.testing.assert_allclose(checks.numpy(outputs), checks.numpy(expected[0]), atol=1e-6)
        np.testing.assert_allclose(checks.numpy(cache.key), checks.numpy(expected[1].key), atol=1e-6)


@pytest.mark.parametrize("beams", [1, K])
@pytest.mark.parametrize("steps", [1, T])
def test_reading_a_projected_memory_equals_cross_attention(beams, steps):
    """Beam-minor rows b * K + k read the memory of sentence b, which is stored once."""
    layer, query = ready(), checks.array(B * beams, steps, D)
    cache = layer.project(VALUES)
    assert isinstance(cache, KVCache) and cache.key.shape == (B * N, S, H)

    def both(query):
        call = {"cache": cache, "value_mask": PADDING}
        return *layer(query, return_attention_scores=True, **call), layer(query, **call)

    outputs, scores, alone = checks.run(both, query)
    rows = np.repeat(np.arange(B), beams)
    expected, expected_scores = call_numpy(layer, query, VALUES[rows], PADDING[rows][:, None])
    np.testing.assert_allclose(checks.numpy(outputs), expected, atol=1e-5)
    np.testing.assert_allclose(checks.numpy(scores), expected_scores, atol=1e-6)
    np.testing.assert_array_equal(checks.numpy(alone), checks.numpy(outputs))


def test_attention_mask_does_not_show_later_steps_of_a_cache():
    layer, x = ready(value_width=D), checks.array(B, 1, D)
    call = {"cache": layer.init_cache(B, S), "cache_index": 2}
    hidden = np.ones((B, 1, S), bool)
    np.testing.assert_array_equal(
        checks.numpy(layer(x, x, attention_mask=hidden, **call)[0]), checks.numpy(layer(x, x, **call)[0])
    )


def test_beams_that_write_without_a_mask_raise():
    layer, x = ready(value_width=D), checks.array(B * K, 1, D)
    with pytest.raises(ValueError, match=r"need an `attention_mask` .* a cache of 3 rows"):
        layer(x, x, cache=layer.init_cache(B, S), cache_index=0)


def test_missing_cache_index_raises():
    layer, x = ready(value_width=D), checks.array(B, 1, D)
    with pytest.raises(ValueError, match="`cache_index` is required to write a `cache`"):
        layer(x, x, cache=layer.init_cache(B, S))
