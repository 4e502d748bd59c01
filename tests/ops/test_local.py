"""Attention within a window by blocks, against attention over all steps under a band mask."""

import keras
import layer_checks as checks
import numpy as np
import pytest
import reference as ref
from keras import ops

from keras_transformer import MultiHeadAttention
from keras_transformer.ops.local import local_attention
from keras_transformer.ops.visibility import Visibility

B, N, H, OUT = 2, 3, 5, 7
PADDING = {"none": None, "at the end": (1, 37), "all of a row": (0, 90)}


def band(steps, window, causal):
    distance = np.arange(steps)[None] - np.arange(steps)[:, None]
    return (np.abs(distance) < window) & ((distance <= 0) | (not causal))


def inputs(steps):
    return [checks.array(B, N, steps, width, seed=i) for i, width in enumerate((H, H, OUT))]


def call(query, key, value, window, causal, mask):
    steps = query.shape[2]
    positions = ops.arange(steps, dtype="int32")
    mask = None if mask is None else ops.convert_to_tensor(mask[:, None, None])
    seen = Visibility(mask, positions, positions, causal, window, to_itself=True)
    flat = [ops.reshape(x, (B * N, -1, x.shape[-1])) for x in (key, value)]
    return local_attention(ops.convert_to_tensor(query), *map(ops.convert_to_tensor, flat), seen)


@pytest.mark.parametrize("padding", PADDING)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("steps", "window"), [(90, 4), (64, 16), (90, 20), (3, 50), (1, 1), (33, 1)])
def test_equals_attention_under_a_band_mask(steps, window, causal, padding):
    query, key, value = inputs(steps)
    lengths = PADDING[padding]
    mask = None if lengths is None else checks.lengths_mask([min(steps, length) for length in lengths], steps)
    seen = band(steps, window, causal)[None] if mask is None else band(steps, window, causal)[None] & mask[:, None]
    outputs, visible = call(query, key, value, window, causal, mask)
    np.testing.assert_allclose(checks.numpy(outputs), ref.attention(query, key, value, seen)[0], atol=1e-5)
    expected = np.broadcast_to(seen.any(-1)[:, None, :, None], (B, N, steps, 1))
    np.testing.assert_array_equal(np.broadcast_to(checks.numpy(visible), expected.shape), expected)


@pytest.mark.parametrize("causal", [False, True])
def test_layer_takes_blocks_for_long_inputs_and_unknown_lengths(causal):
    """Against the layer that computes all scores; outputs and gradients, with padding."""
    x = checks.array(B, 100, 6)
    mask = checks.lengths_mask((100, 41), 100)
    layers = [MultiHeadAttention(N, H, sliding_window=5, flash_attention=flash) for flash in (None, False)]
    for layer in layers:
        layer.build((B, 100, 6))
    checks.randomize(layers[0])
    layers[1].set_weights(layers[0].get_weights())
    weights = checks.array(B, 100, 6, seed=9)

    def loss(layer):
        return lambda x: ops.sum(layer(x, x, value_mask=mask, use_causal_mask=causal) * weights)

    for found, expected in zip(*(checks.gradients(loss(layer), [x], layer) for layer in layers), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-4)
    seen = []
    for layer in layers:
        attend = layer._is_local
        layer._is_local = lambda *arguments, attend=attend: seen.append(attend(*arguments)) or seen[-1]
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        found, expected = (
            tf.function(lambda x, layer=layer: layer(x, x, use_causal_mask=causal), [tf.TensorSpec([None, None, 6])])(x)
            for layer in layers
        )
        np.testing.assert_allclose(found, expected, atol=1e-5)
        assert seen == [True, False]


def test_layer_takes_all_scores_where_blocks_do_not_serve():
    layer = MultiHeadAttention(N, H, sliding_window=5)
    x = ops.convert_to_tensor(checks.array(B, 100, 6))
    layer.build(x.shape)
    seen = []
    attend = layer._is_local
    layer._is_local = lambda *arguments: seen.append(attend(*arguments)) or seen[-1]
    layer(x, x)
    layer(x, x, attention_mask=np.ones((B, 100, 100), bool))
    layer(x, x, return_attention_scores=True)
    short = x[:, :60]
    layer(short, short)
    layer(x[:, :1], x[:, :1], cache=layer.init_cache(B, 100), cache_index=0)
    assert seen == [True, False, False, False, False]
