"""Tests of attention in blocks against attention without blocks, under every mask."""

import itertools

import keras
import layer_checks as checks
import numpy as np
import pytest
from keras import ops

from keras_transformer import EncoderBlock, MultiHeadAttention
from keras_transformer.ops import blockwise
from keras_transformer.ops.attention import attend, attention_scores
from keras_transformer.ops.visibility import Visibility

B, N, T, S, H, VALUE = 2, 3, 37, 41, 5, 7
RANDOM = np.random.default_rng(0)
MASKS = {
    "all seen": None,
    "padding": checks.lengths_mask((S, 20), S)[:, None, None],
    "pattern": RANDOM.random((B, 1, T, S)) < 0.3,
    "heads": (RANDOM.random((B, N, T, S)) < 0.1) & (np.arange(T) != 4)[:, None],
    "keys of heads": RANDOM.random((1, N, 1, S)) < 0.3,
}
SMALL = B * N * S * 16  # Blocks of 13 steps, the last of which is not full.


def test_small_blocks_are_several():
    assert blockwise._block_sizes(T, SMALL // (B * N * S)) == (13, 3)


def seen(mask, causal, window):
    mask = None if mask is None else ops.convert_to_tensor(mask)
    return Visibility(mask, ops.arange(T, dtype="int32"), ops.arange(S, dtype="int32"), causal, window)


def bias(query_positions, key_positions):
    ahead = ops.cast(key_positions[None] - query_positions[:, None], "float32")
    return -ops.abs(ahead) * ops.reshape(ops.convert_to_tensor([0.5, 0.1, 0.0]), (1, N, 1, 1))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", MASKS)
def test_equals_attention_without_blocks(name, dtype):
    inputs = [checks.array(*s, seed=i) for i, s in enumerate([(B, N, T, H), (B * N, S, H), (B * N, S, VALUE)])]
    upstream = checks.array(B, N, T, VALUE, seed=9)
    rules = [*itertools.product((False, True), (None, 3), (None, bias))]
    if dtype == "bfloat16" or keras.backend.backend() == "jax":  # JAX compiles each for seconds.
        rules = rules[::7]
    for causal, window, added in rules:

        def at_once(query, key, value, causal=causal, window=window, added=added):
            looked = seen(MASKS[name], causal, window)
            scores = attention_scores(query, key)
            scores = scores + added(looked.query_positions, looked.key_positions) if added else scores
            return attend(scores, value, looked.rows())[0], looked.visible_rows()

        def in_blocks(query, key, value, causal=causal, window=window, added=added):
            return blockwise.blockwise_attention(query, key, value, seen(MASKS[name], causal, window), added, SMALL)

        found = []
        for function in (at_once, in_blocks):

            def loss(*x, function=function):
                x = [ops.cast(each, dtype) for each in x]
                return ops.sum(ops.multiply(ops.cast(function(*x)[0], "float32"), upstream))

            x = [ops.cast(each, dtype) for each in inputs]
            found.append([*function(*x), *checks.gradients(loss, inputs)])
        for i, (expected, got) in enumerate(zip(*found)):
            if i == 1:
                assert (expected is None) == (got is None)
            if expected is not None:
                expected, got = (np.asarray(x) if i > 1 else checks.numpy(x) for x in (expected, got))
                tolerance = 3e-6 if dtype == "float32" else 2e-2
                np.testing.assert_allclose(got, expected, atol=tolerance * max(1.0, np.abs(expected).max()))


def test_blocks_are_used_for_long_inputs_only(monkeypatch):
    """Blocks depend on the length; returned or dropped weights and overridden `_scores` rule them out."""
    calls, original = [], blockwise.blockwise_attention

    def counted(*args, **kwargs):
        calls.append(args)
        return original(*args, **kwargs)

    monkeypatch.setattr("keras_transformer.layers.attention_heads.blockwise_attention", counted)
    monkeypatch.setattr("keras_transformer.layers.attention_heads.LONG", T * T)

    class Own(MultiHeadAttention):
        def _scores(self, *args):
            return super()._scores(*args)

    def used(layer=MultiHeadAttention, steps=T, call=None, **kwargs):
        calls.clear()
        x = checks.array(B, steps, 6)
        layer(N, 2, **kwargs)(x, x, **(call or {}))
        return len(calls) == 1

    assert used() and used(call={"use_causal_mask": True}) and used(dropout=0.5)
    assert not used(steps=T - 1) and used(steps=T - 1, flash_attention=True)
    assert not used(flash_attention=False) and not used(dropout=0.5, call={"training": True})
    assert not used(call={"return_attention_scores": True}) and not used(Own)


@checks.tensorflow_only
def test_sizes_known_only_at_run_time():
    import tensorflow as tf

    class Flash(EncoderBlock):
        def _make_attention(self, width, name):
            return MultiHeadAttention(N, width // N, flash_attention=True, name=name)

    blocks = [Flash(N, 8), EncoderBlock(N, 8)]
    for block in blocks:
        block.build((None, None, 6))
    checks.randomize(blocks[0])
    blocks[1].set_weights(blocks[0].get_weights())
    x, mask = checks.array(B, T, 6), checks.lengths_mask((T, 9), T)
    found = []
    for block in blocks:

        @tf.function(input_signature=[tf.TensorSpec((None, None, 6)), tf.TensorSpec((None, None), "bool")])
        def both(x, mask, block=block):
            with tf.GradientTape() as tape:
                tape.watch(x)
                outputs = block(x, mask=mask, use_causal_mask=True)
            return outputs, tape.gradient(outputs, x)

        found.append(both(x, mask))
    for got, expected in zip(*found):
        np.testing.assert_allclose(got, expected, atol=1e-5)


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_gradients_of_an_encoder_block_are_the_same(policy):
    class Flash(EncoderBlock):
        def _make_attention(self, width, name):
            return MultiHeadAttention(N, width // N, flash_attention=True, dtype=self.dtype_policy, name=name)

    x, mask, found = checks.array(B, T, 6), checks.lengths_mask((T, 0), T), []
    for make in (Flash, EncoderBlock):
        block = make(N, 8, dtype=policy)
        block.build((B, T, 6))
        checks.randomize(block)
        found.append(
            checks.gradients(lambda x, b=block: ops.sum(ops.cast(b(x, mask=mask), "float32") ** 2), [x], block)
        )
    for got, expected in zip(*found, strict=True):
        tolerance = 1e-4 if policy == "float32" else 0.1
        np.testing.assert_allclose(got, expected, atol=tolerance * max(1.0, np.abs(expected).max()))
    assert keras.backend.standardize_dtype(found[0][0].dtype) == "float32"


def test_scores_beyond_float16_are_those_of_float32():
    shapes = (B, N, T, H), (B * N, S, H), (B * N, S, VALUE)
    inputs = [ops.cast(checks.array(*s, seed=i, scale=1e3 if i < 2 else 1.0), "float16") for i, s in enumerate(shapes)]
    (outputs, _), expected = (
        blockwise.blockwise_attention(*x, seen(None, False, None), None, SMALL)
        for x in (inputs, [ops.cast(x, "float32") for x in inputs])
    )
    assert np.abs(checks.numpy(attention_scores(*inputs[:2]))).max() > 1e5
    np.testing.assert_allclose(checks.numpy(outputs), checks.numpy(expected[0]), atol=0.02)
