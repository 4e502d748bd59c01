"""Tests of attention variants: a layer, and a block and a stack that use it."""

import keras
import layer_checks as checks
import numpy as np
import pytest
import reference as ref
from keras import ops

from keras_transformer import DecoderBlock, Encoder, EncoderBlock, MultiHeadAttention, Residual
from keras_transformer.ops import blockwise

B, T, N, D, F = 3, 7, 2, 8, 11
X = checks.array(B, T, D)


class LinearBiases(MultiHeadAttention):
    """Lowers scores by the distance of a key (ALiBi: Press et al. 2022), half as much in each further head."""

    def _bias(self, query_positions, key_positions):
        slopes = 0.5 ** ops.arange(1, self.num_heads + 1, dtype="float32")
        distances = ops.abs(query_positions[:, None] - key_positions[None])
        return -slopes[None, :, None, None] * ops.cast(distances, "float32")


class Turned(MultiHeadAttention):
    """Rotates queries and keys by their positions, as one pair of numbers (RoPE: Su et al. 2021, with H = 2)."""

    def _place(self, heads, positions):
        angles = ops.cast(positions, "float32")[:, None]
        x, y = heads[..., :1], heads[..., 1:]
        return ops.concatenate(
            [x * ops.cos(angles) - y * ops.sin(angles), x * ops.sin(angles) + y * ops.cos(angles)], -1
        )


class Additive(MultiHeadAttention):
    """Computes scores v . tanh(q + k) with a learned vector v (Bahdanau et al. 2015, appendix A.1.2)."""

    def build(self, query_shape, value_shape=None, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        self.vector = self.add_weight(name="vector", shape=(self.key_dim,))

    def _scores(self, query, key, query_positions, key_positions):
        key = ops.reshape(key, (-1, self.num_heads, *ops.shape(key)[1:]))
        return ops.sum(ops.tanh(query[:, :, :, None] + key[:, :, None]) * self.vector, axis=-1)


class VariantBlock(EncoderBlock):
    attention_class = LinearBiases


class VariantEncoder(Encoder):
    block_class = VariantBlock


def numpy_scores(variant, layer):
    """Computes the softmax of the unmasked scores, [B, N, T, T], from the equations."""
    weights, positions = ref.weights_of(layer), np.arange(T)
    query, key = (
        ref.dense(X, ref.part(weights, f"{name}_dense")).reshape(B, T, N, -1).transpose(0, 2, 1, 3)
        for name in ("query", "key")
    )
    if variant is Turned:
        rotated = [(h[..., 0] + 1j * h[..., 1]) * np.exp(1j * positions) for h in (query, key)]
        return np.einsum("bnt,bns->bnts", rotated[0], rotated[1].conj()).real / np.sqrt(2)
    if variant is Additive:
        return np.tanh(query[:, :, :, None] + key[:, :, None]) @ weights["vector"]
    slopes = np.array([0.5, 0.25])[None, :, None, None]
    scores = np.einsum("bnth,bnsh->bnts", query, key) / np.sqrt(query.shape[-1])
    return scores - slopes * np.abs(positions[:, None] - positions)


@pytest.mark.parametrize("variant", [LinearBiases, Turned, Additive])
def test_scores_and_cached_steps_of_a_variant(variant):
    layer = variant(N, 2)
    layer.build((B, T, D))
    checks.randomize(layer)
    _, found = layer(X, X, return_attention_scores=True)
    scores = numpy_scores(variant, layer)
    np.testing.assert_allclose(checks.numpy(found), ref.softmax(scores), atol=1e-5)
    assert (
        np.abs(
            ref.softmax(scores) - checks.numpy(MultiHeadAttention(N, 2)(X, X, return_attention_scores=True)[1])
        ).max()
        > 1e-2
    )
    whole, cache = checks.numpy(layer(X, X, use_causal_mask=True)), layer.init_cache(B, T)
    for first, last in ((0, 3), (3, 4), (4, 7)):
        x = X[:, first:last]
        outputs, cache = layer(x, x, cache=cache, cache_index=first)
        np.testing.assert_allclose(checks.numpy(outputs), whole[:, first:last], atol=1e-5)
    *_, vector = checks.gradients(lambda x: ops.sum(layer(x, x) ** 2), [X], layer)
    assert vector.any()


def test_bias_in_blocks():
    layers = [LinearBiases(N, 4, flash_attention=flash) for flash in (True, False)]
    for layer in layers:
        layer.build((B, T, D))
    checks.randomize(layers[0])
    layers[1].set_weights(layers[0].get_weights())
    outputs = [checks.numpy(layer(X, X, use_causal_mask=True)) for layer in layers]
    np.testing.assert_allclose(*outputs, atol=1e-6)
    assert blockwise.LONG > T * T
    with pytest.raises(ValueError, match="Flash attention cannot use other scores.*Additive"):
        Additive(N, 4, flash_attention=True)(X, X)


def test_stack_of_a_variant():
    layer = VariantEncoder(2, N, F, normalize_first=True)
    layer.build((B, T, D))
    checks.randomize(layer)
    assert all(type(block.self_attention) is LinearBiases for block in layer.blocks)
    _, scores = layer(X, return_attention_scores=True)
    first = layer.blocks[0]
    expected = first.self_attention(*[first.self_attention_residual.prepare(X)] * 2, return_attention_scores=True)[1]
    np.testing.assert_allclose(checks.numpy(scores[0]), checks.numpy(expected), atol=1e-6)
    again = VariantEncoder.from_config(layer.get_config())
    assert again.get_config() == layer.get_config() and again.norm is not None


def test_cross_attention_keeps_its_own_class():
    class Block(DecoderBlock):
        attention_class = LinearBiases

    block = Block(N, F)
    block.build((B, T, D), (B, T, D))
    assert type(block.self_attention) is LinearBiases and type(block.cross_attention) is MultiHeadAttention


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
