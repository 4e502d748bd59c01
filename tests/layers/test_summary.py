"""`summary` of subclassed models, which Keras makes by the shapes that layers are built with."""

import keras
import numpy as np
import pytest

from keras_transformer import Decoder, Encoder, LearnedPositionalEncoding, PositionalEncoding, TokenEmbedding


class Translator(keras.Model):
    def __init__(self, positions):
        super().__init__()
        self.embedding = TokenEmbedding(11, 8)
        self.positions = positions
        self.encoder = Encoder(1, num_heads=2, intermediate_dim=4)
        self.decoder = Decoder(1, num_heads=2, intermediate_dim=4)

    def build(self, inputs_shape=None):
        vectors = (None, None, 8)
        self.embedding.build()
        for layer in (self.positions, self.encoder):
            layer.build(vectors)
        self.decoder.build(vectors, vectors)
        self.built = True

    def call(self, inputs):
        source, target = (self.positions(self.embedding(ids)) for ids in inputs)
        return self.decoder(target, self.encoder(source))


@pytest.mark.parametrize("positions", [PositionalEncoding, lambda: LearnedPositionalEncoding(7)])
@pytest.mark.parametrize("called", [False, True])
def test_summary_prints_every_layer(positions, called):
    model, lines = Translator(positions()), []
    model.build()
    if called:
        model((np.ones((3, 5), "int32"), np.ones((3, 2), "int32")))
    model.summary(print_fn=lines.append)
    printed = "".join(lines)
    assert all(layer.name[:10] in printed for layer in model.layers) and "(None, None, 8)" in printed
