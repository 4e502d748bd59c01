"""Tests of blocks and stacks with another attention or another normalisation."""

import keras
import layer_checks as checks
import numpy as np
import pytest
import reference as ref

from keras_transformer import (
    AdditiveAttention,
    DecoderBlock,
    Encoder,
    EncoderBlock,
    LinearBiasAttention,
    MultiHeadAttention,
    Residual,
)

B, T, N, D, F = 3, 7, 2, 8, 11
X = checks.array(B, T, D)


class VariantBlock(EncoderBlock):
    attention_class = LinearBiasAttention


class VariantEncoder(Encoder):
    block_class = VariantBlock


def test_flash_attention_needs_the_scores_of_dot_products():
    with pytest.raises(ValueError, match="Flash attention cannot use other scores.*AdditiveAttention"):
        AdditiveAttention(N, 4, flash_attention=True)(X, X)


def test_stack_of_a_variant():
    layer = VariantEncoder(2, N, F, normalize_first=True)
    layer.build((B, T, D))
    checks.randomize(layer)
    assert all(type(block.self_attention) is LinearBiasAttention for block in layer.blocks)
    _, scores = layer(X, return_attention_scores=True)
    first = layer.blocks[0]
    expected = first.self_attention(*[first.self_attention_residual.prepare(X)] * 2, return_attention_scores=True)[1]
    np.testing.assert_allclose(checks.numpy(scores[0]), checks.numpy(expected), atol=1e-6)
    again = VariantEncoder.from_config(layer.get_config())
    assert again.get_config() == layer.get_config() and again.norm is not None


def test_cross_attention_keeps_its_own_class():
    class Block(DecoderBlock):
        attention_class = LinearBiasAttention

    block = Block(N, F)
    block.build((B, T, D), (B, T, D))
    assert type(block.self_attention) is LinearBiasAttention and type(block.cross_attention) is MultiHeadAttention


def test_stack_with_another_normalization():
    class RMSResidual(Residual):
        normalization_class = keras.layers.RMSNormalization

    class Block(EncoderBlock):
        residual_class = RMSResidual

    class RMSEncoder(Encoder):
        block_class = Block

    def normalized(x, scale):  # Zhang and Sennrich 2019, eq. 4.
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * scale

    layer = RMSEncoder(1, N, F, normalize_first=True)
    layer.build((B, T, D))
    checks.randomize(layer)
    block, weights = layer.blocks[0], ref.weights_of(layer)
    first, second, last = (
        weights[f"{name}norm/scale"]
        for name in ("block_0/self_attention_residual/", "block_0/feed_forward_residual/", "")
    )
    x = normalized(X, first)
    x = X + ref.multi_head_attention(x, x, ref.part(ref.weights_of(block), "self_attention"), N)[0]
    x = x + ref.feed_forward(normalized(x, second), ref.part(ref.weights_of(block), "feed_forward"))
    np.testing.assert_allclose(checks.numpy(layer(X)), normalized(x, last), atol=1e-4)
    mask = checks.lengths_mask((7, 2, 5), T)
    assert (checks.mask_of(layer(checks.with_mask(X, mask))) == mask).all(), "and no warning that one is lost"


def test_stack_passes_arguments_to_its_blocks():
    class Local(EncoderBlock):
        def __init__(self, *args, window, **kwargs):
            super().__init__(*args, **kwargs)
            self.window = window

        def get_config(self):
            return {**super().get_config(), "window": self.window}

        def _make_attention(self, width, name):
            return MultiHeadAttention(
                self.num_heads, width // self.num_heads, sliding_window=self.window, dtype=self.dtype_policy, name=name
            )

    class LocalEncoder(Encoder):
        block_class = Local

    layer = LocalEncoder(2, N, F, window=2, dtype="float32")
    layer.build((B, T, D))
    assert layer.get_config()["window"] == 2 and [block.window for block in layer.blocks] == [2, 2]
    assert LocalEncoder.from_config(layer.get_config()).get_config() == layer.get_config()
    _, scores = layer(keras.ops.convert_to_tensor(X), return_attention_scores=True)
    far = np.abs(np.arange(T)[:, None] - np.arange(T)) >= 2
    assert all(not checks.numpy(s)[..., far].any() and (checks.numpy(s)[..., ~far] > 0).all() for s in scores)
