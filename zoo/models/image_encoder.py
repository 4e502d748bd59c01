"""Front end and stack of the models of images."""

import keras
from keras import ops

from keras_transformer import (
    ConvolutionalEmbedding,
    Encoder,
    GridPositionalEncoding,
    LearnedGridPositionalEncoding,
    PatchEmbedding,
)
from keras_transformer.layers.dropout import Dropout
from keras_transformer.ops.replicas import num_replicas
from zoo.image_config import ImageConfig

MEAN, DEVIATION = 127.5, 64.0
"""What is subtracted from the values of pixels, and what the difference is divided by."""


@keras.saving.register_keras_serializable("zoo")
class ImageEncoder(keras.layers.Layer):
    """Encodes images as vectors.

        x = Dropout(E(image) + P),  y = Encoder([class tokens, x])

    E are convolutions (Hassani et al. 2021) or patches (Dosovitskiy et al. 2021).
    Axes: B batch, H rows, W columns, T cells of the grid, D width.

    Args:
        config: Sizes and rates.
        num_class_tokens: Number K of learned vectors before those of the cells, 0 to 2.

    Call arguments:
        inputs: Uint8 or float `[B, H, W, 3]`, values from 0 to 255.

    Returns:
        Float `[B, K + T, D]`.
    """

    def __init__(self, config: ImageConfig, num_class_tokens: int = 0, **kwargs):
        super().__init__(**kwargs)
        self.config = config
        named = {"dtype": self.dtype_policy}
        if config.embedding == "patches":
            self.embedding = PatchEmbedding(config.hidden_dim, config.patch_size, **named, name="embedding")
        else:
            sizes = {
                "inner_dim": config.inner_dim,
                "channel_growth": config.channel_growth,
                "num_residual_blocks": config.num_residual_blocks,
                "normalization": config.convolution_normalization,
            }
            self.embedding = ConvolutionalEmbedding(
                config.hidden_dim, config.num_convolutions, **sizes, **named, name="embedding"
            )
        if config.positions == "learned":
            size, start = config.grid_size, keras.initializers.RandomNormal(stddev=0.02)
            options = {"embeddings_initializer": start, **named}
            self.positions = LearnedGridPositionalEncoding(size, size, **options, name="positions")
        else:
            self.positions = GridPositionalEncoding(**named, name="positions")
        self.num_class_tokens = num_class_tokens
        self.embedding_dropout = Dropout(config.dropout, **named, name="embedding_dropout")
        self.encoder = Encoder(config.num_layers, **config.block_arguments(), **named, name="encoder")

    def build(self, inputs_shape=None):
        width = self.config.hidden_dim
        self.embedding.build((None, None, None, 3))
        self.positions.build((None, None, None, width))
        self.encoder.build((None, None, width))
        start = keras.initializers.RandomNormal(stddev=0.02)
        names = ("class_token", "distillation_token")[: self.num_class_tokens]
        self.class_tokens = [self.add_weight(name=name, shape=(width,), initializer=start) for name in names]
        self.built = True

    def call(self, inputs):
        return self.encoder(self.embed(inputs))

    def embed(self, inputs):
        """Returns the vectors that the stack takes, of the same shape as those that it returns."""
        x = (ops.cast(inputs, self.compute_dtype) - MEAN) / DEVIATION
        x = self.positions(self._grid(x, inputs))
        batch, rows, columns, width = ops.shape(x)
        x = ops.reshape(x, (batch, rows * columns, width))
        if self.num_class_tokens:
            tokens = ops.stack([ops.cast(token, x.dtype) for token in self.class_tokens])
            tokens = ops.broadcast_to(tokens, (batch, self.num_class_tokens, width))
            x = ops.concatenate([tokens, x], axis=1)
        return self.embedding_dropout(x)

    def _grid(self, x, images):
        """Returns the vectors of cells. Images of zeros, which complete batches for replicas, are in no statistics."""
        alone = num_replicas() == 1 and keras.distribution.distribution() is None
        if alone or self.config.convolution_normalization == "layer":
            return self.embedding(x)
        real = ops.any(ops.not_equal(images, 0), axis=(1, 2, 3), keepdims=True)[..., 0]
        return self.embedding(x, mask=ops.broadcast_to(real, ops.shape(x)[:-1]))

    def layers_bottom_up(self) -> list[list[keras.layers.Layer]]:
        """Returns the embedding layers, then each block in a list of its own; without a final normalization."""
        return [[self.embedding, self.positions], *([block] for block in self.encoder.blocks)]
