"""Tests that inputs without rows, or without steps, give outputs without rows or steps, and gradients of zero."""

import keras
import layer_checks as checks
import numpy as np
import pytest
from keras import ops

from keras_transformer import (
    AttentionPooling,
    Decoder,
    Encoder,
    FeedForward,
    LearnedPositionalEncoding,
    MultiHeadAttention,
    PositionalEncoding,
    TokenEmbedding,
)

D = 8
LAYERS = {
    "attention": lambda x: MultiHeadAttention(2, 4)(x, x),
    "feed-forward": lambda x: FeedForward(16)(x),
    "positions": lambda x: PositionalEncoding()(x),
    "learned positions": lambda x: LearnedPositionalEncoding(20)(x),
    "encoder": lambda x: Encoder(2, 2, 16)(x),
    "causal encoder": lambda x: Encoder(1, 2, 16)(x, use_causal_mask=True),
    "decoder": lambda x: Decoder(1, 2, 16)(x, x),
}


@pytest.mark.parametrize("rows, steps", [(0, 5), (3, 0), (0, 0)])
@pytest.mark.parametrize("name", LAYERS)
def test_empty_inputs_give_empty_outputs(name, rows, steps):
    assert tuple(LAYERS[name](ops.zeros((rows, steps, D))).shape) == (rows, steps, D)


def test_pooling_of_no_steps_gives_zeros():
    found = checks.numpy(AttentionPooling()(ops.zeros((3, 0, D))))
    assert found.shape == (3, D) and not found.any()


def test_memory_without_steps():
    """A step that sees nothing gets zeros from cross-attention, as where all of the memory is padding."""
    keras.utils.set_random_seed(1)
    decoder, x = Decoder(1, 2, 16), checks.array(3, 5, D, seed=1)
    hidden = ops.zeros((3, 2), "bool")
    padded = checks.numpy(decoder(x, checks.array(3, 2, D, seed=2), memory_mask=hidden))
    np.testing.assert_allclose(checks.numpy(decoder(x, ops.zeros((3, 0, D)))), padded, atol=1e-6)


@pytest.mark.parametrize("shape", [(0, 5), (3, 0)])
def test_fit_and_predict_without_steps(shape):
    ids = keras.Input((None,), dtype="int32")
    x = Encoder(1, 2, 16)(PositionalEncoding()(TokenEmbedding(20, D, mask_zero=True)(ids)))
    model = keras.Model(ids, x)
    assert tuple(model(np.zeros(shape, "int32")).shape) == (*shape, D)
