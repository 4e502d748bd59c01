"""Guards of what Keras does not make public, by what this package needs it for."""

import keras
import numpy as np
from keras import ops

from keras_transformer import Encoder, TokenEmbedding
from keras_transformer.ops import masks
from keras_transformer.ops.sublayers import owners, sublayers


def test_layers_at_any_depth_are_found():
    encoder = Encoder(1, 2, 11)
    encoder.build((None, None, 8))
    [block] = encoder.blocks
    found = sublayers(encoder)
    assert encoder not in found and encoder in sublayers(encoder, include_self=True)
    for layer in (block, block.self_attention, block.self_attention.query_dense, block.feed_forward_residual.norm):
        assert found.count(layer) == 1


def test_owners_have_weights_of_their_own():
    encoder = Encoder(1, 2, 11)
    inputs = keras.Input((None, 8))
    model = keras.Model(inputs, encoder(inputs))
    names = {layer.name for layer in owners(model)}
    assert names == {"query_dense", "key_dense", "value_dense", "output_dense", "inner_dense", "norm"}
    assert sum(len(layer.weights) for layer in owners(model)) == len(model.weights)


def test_masks_that_keras_attaches_are_found():
    ids = np.array([[3, 0]])
    found = masks.attached_mask(TokenEmbedding(5, 2)(ids))
    np.testing.assert_array_equal(ops.convert_to_numpy(found), ids != 0)
