"""Tests of the attention weights that blocks and stacks return, and of `compute_output_shape` of all layers."""

import keras
import layer_checks as checks
import numpy as np
import pytest
import reference as ref

import keras_transformer
from keras_transformer import BlockScores, Decoder, Encoder

B, T, S, N, D, MEMORY, F, LAYERS = 3, 5, 7, 2, 14, 19, 11, 3
X, VECTORS = checks.array(B, T, D), checks.array(B, S, MEMORY, seed=1)
PADDING, SOURCE_PADDING = checks.lengths_mask((5, 2, 4), T), checks.lengths_mask((7, 4, 2), S)
SKIPS = [False, pytest.param(True, marks=checks.tensorflow_only)]


def numpy_weights(x, block, mask, normalize_first, memory=None, name="self_attention"):
    """Computes the weights of one attention layer of a block on inputs x."""
    if normalize_first:
        x = ref.layer_norm(x, ref.part(block, f"{name}_residual/norm"))
    return ref.multi_head_attention(x, x if memory is None else memory, ref.part(block, name), N, mask)[1]


def after_self_attention(x, block, mask, normalize_first):
    def attend(x):
        return ref.multi_head_attention(x, x, ref.part(block, "self_attention"), N, mask)[0]

    return ref.sublayer(x, attend, ref.part(block, "self_attention_residual"), normalize_first)


def real(scores, mask=PADDING):
    """Returns the weights of real queries; those of others are not specified."""
    return checks.numpy(scores).transpose(0, 2, 1, 3)[mask]


@pytest.mark.parametrize("normalize_first", [False, True])
@pytest.mark.parametrize("skip_padding", SKIPS)
def test_weights_of_an_encoder(normalize_first, skip_padding):
    layer = Encoder(LAYERS, N, F, normalize_first=normalize_first, skip_padding=skip_padding)
    layer.build((B, T, D))
    weights = ref.weights_of(checks.randomize(layer))
    outputs, scores = layer(X, mask=PADDING, return_attention_scores=True)
    alone = layer(X, mask=PADDING)
    np.testing.assert_allclose(checks.numpy(outputs), checks.numpy(alone), atol=1e-6)
    x, mask = X, PADDING[:, None]
    assert isinstance(scores, tuple) and len(scores) == LAYERS
    for i, found in enumerate(scores):
        block = ref.part(weights, f"block_{i}")
        expected = numpy_weights(x, block, mask, normalize_first)
        assert found.shape == (B, N, T, T)
        np.testing.assert_allclose(real(found), expected.transpose(0, 2, 1, 3)[PADDING], atol=1e-5)
        x = ref.encoder_block(x, block, N, mask, normalize_first)


@pytest.mark.parametrize("normalize_first", [False, True])
@pytest.mark.parametrize("skip_padding", SKIPS)
def test_weights_of_a_decoder(normalize_first, skip_padding):
    layer = Decoder(LAYERS, N, F, normalize_first=normalize_first, skip_padding=skip_padding)
    layer.build((B, T, D), (B, S, MEMORY))
    weights = ref.weights_of(checks.randomize(layer))
    call = {"inputs_mask": PADDING, "memory_mask": SOURCE_PADDING}
    outputs, scores = layer(X, VECTORS, return_attention_scores=True, **call)
    np.testing.assert_allclose(checks.numpy(outputs), checks.numpy(layer(X, VECTORS, **call)), atol=1e-6)
    x, mask, memory_mask = X, PADDING[:, None] & ref.causal(T, T), SOURCE_PADDING[:, None]
    assert len(scores) == LAYERS
    for i, found in enumerate(scores):
        block = ref.part(weights, f"block_{i}")
        assert isinstance(found, BlockScores)
        expected = numpy_weights(x, block, mask, normalize_first)
        np.testing.assert_allclose(real(found.self_attention), expected.transpose(0, 2, 1, 3)[PADDING], atol=1e-5)
        middle = after_self_attention(x, block, mask, normalize_first)
        expected = numpy_weights(middle, block, memory_mask, normalize_first, VECTORS, "cross_attention")
        np.testing.assert_allclose(real(found.cross_attention), expected.transpose(0, 2, 1, 3)[PADDING], atol=1e-5)
        x = ref.decoder_block(x, VECTORS, block, N, mask, memory_mask, normalize_first)


def test_weights_step_by_step():
    """Outputs, weights and caches are returned in this order; the weights are rows of those of the full pass."""
    layer = Decoder(2, N, F)
    layer.build((B, T, D), (B, S, MEMORY))
    checks.randomize(layer)
    _, whole = layer(X, VECTORS, return_attention_scores=True)
    cache = layer.init_cache(keras.ops.convert_to_tensor(VECTORS), T)
    for t in range(2):
        outputs, scores, cache = layer(X[:, t : t + 1], cache=cache, cache_index=t, return_attention_scores=True)
        assert outputs.shape == (B, 1, D)
        for now, all_steps in zip(scores, whole):
            for found, expected in zip(now, all_steps):
                np.testing.assert_allclose(checks.numpy(found)[:, :, 0], checks.numpy(expected)[:, :, t], atol=1e-5)


def test_weights_in_a_functional_model():
    x, memory = keras.Input((None, D)), keras.Input((None, MEMORY))
    outputs, scores = Decoder(2, N, F)(x, memory, return_attention_scores=True)
    assert outputs.shape == (None, None, D) and scores[1].cross_attention.shape == (None, N, None, None)
    model = keras.Model([x, memory], scores[1].cross_attention)
    assert model([X, VECTORS]).shape == (B, N, T, S)


IMAGE = 3, 8, 10, 16
LAYERS_AND_SHAPES = {
    "AttentionPooling": ({}, (3, D)),
    "Decoder": ({"num_layers": 2, "num_heads": N, "intermediate_dim": F}, (3, T, D)),
    "DecoderBlock": ({"num_heads": N, "intermediate_dim": F}, (3, T, D)),
    "Encoder": ({"num_layers": 2, "num_heads": N, "intermediate_dim": F}, (3, T, D)),
    "EncoderBlock": ({"num_heads": N, "intermediate_dim": F}, (3, T, D)),
    "FeedForward": ({"intermediate_dim": F}, (3, T, D)),
    "LearnedPositionalEncoding": ({"max_length": T}, (3, T, D)),
    **{
        name: ({"num_heads": N, "key_dim": 4}, (3, T, D))
        for name in (
            *("MultiHeadAttention", "AdditiveAttention", "BucketedAttention", "LinearBiasAttention"),
            *("RelativeAttention", "RotaryAttention"),
        )
    },
    "ConvolutionalEmbedding": ({"hidden_dim": 4}, (3, 2, 3, 4)),
    "FeatureMapAttention": ({}, IMAGE),
    "GridPositionalEncoding": ({}, IMAGE),
    "LearnedGridPositionalEncoding": ({"rows": 2, "columns": 2}, IMAGE),
    "ResidualConvolutions": ({}, IMAGE),
    "BatchNormalization": ({}, IMAGE),
    "PatchEmbedding": ({"hidden_dim": 4, "patch_size": 2}, (3, 4, 5, 4)),
    "ConvolutionalSubsampling": ({"hidden_dim": 4}, (3, 2, 4)),
    "LogMelSpectrogram": ({"sampling_rate": 8_000, "num_mels": 6}, (3, 1, 6)),
    "SpecAugment": ({}, (3, T, D)),
    "DistanceBuckets": ({"num_heads": N}, (1, N, T, S)),
    "GatedFeedForward": ({"intermediate_dim": F}, (3, T, D)),
    "PositionalEncoding": ({}, (3, T, D)),
    "PowerNormalization": ({}, (3, T, D)),
    "Residual": ({}, (3, T, D)),
    "TokenEmbedding": ({"vocabulary_size": 9, "hidden_dim": 4}, (3, T, 4)),
}


def test_output_shape_of_every_public_layer():
    public = [getattr(keras_transformer, name) for name in keras_transformer.__all__]
    layers = {x.__name__ for x in public if isinstance(x, type) and issubclass(x, keras.layers.Layer)}
    assert layers <= LAYERS_AND_SHAPES.keys()
    for name, (kwargs, expected) in LAYERS_AND_SHAPES.items():
        layer = getattr(keras_transformer, name)(**kwargs)
        shapes = [(3, T)] if name in ("TokenEmbedding", "LogMelSpectrogram") else [(3, T, D)]
        if name.startswith("Decoder"):
            shapes.append((3, S, MEMORY))
        shapes = [(T,), (S,)] if name == "DistanceBuckets" else shapes
        shapes = [IMAGE] if len(expected) == 4 and name != "DistanceBuckets" else shapes
        assert layer.compute_output_shape(*shapes) == expected, name
