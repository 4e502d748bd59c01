"""Tests that ragged tensors raise an error that names the conversion."""

import layer_checks as checks
import pytest

from keras_transformer import (
    AttentionPooling,
    Decoder,
    Encoder,
    FeedForward,
    LearnedPositionalEncoding,
    PositionalEncoding,
    TokenEmbedding,
)

pytestmark = checks.tensorflow_only


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        PositionalEncoding,
        lambda: LearnedPositionalEncoding(9),
        lambda: Encoder(1, 2, 5, normalize_first=True),
        AttentionPooling,
        lambda: FeedForward(5),
    ],
)
def test_ragged_inputs_raise(make, compiled):
    import tensorflow as tf

    ids = tf.ragged.constant([[1, 2, 3], [4]])
    vectors, layer = TokenEmbedding(7, 6)(ids), make()
    assert layer(TokenEmbedding(7, 6)(ids.to_tensor())).shape[0] == 2
    assert isinstance(vectors, tf.RaggedTensor) and vectors.shape.as_list() == [2, None, 6]
    call = tf.function(layer) if compiled else layer
    with pytest.raises(ValueError, match=r"rows of the same length. Received: RaggedTensor .* `ids.to_tensor\(\)`"):
        call(vectors)


def test_ragged_memory_raises():
    import tensorflow as tf

    memory = tf.RaggedTensor.from_row_splits(tf.ones((4, 6)), [0, 3, 4])
    with pytest.raises(ValueError, match="RaggedTensor"):
        Decoder(1, 2, 5)(tf.ones((2, 3, 6)), memory)
