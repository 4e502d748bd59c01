"""Model that classifies images."""

import keras
from keras import ops

from keras_transformer import AttentionPooling
from keras_transformer.layers.dropout import Dropout
from zoo.image_config import ImageClassifierConfig
from zoo.models.encoder_model import ConfiguredModel
from zoo.models.image_encoder import ImageEncoder


@keras.saving.register_keras_serializable("zoo")
class ImageClassifier(ConfiguredModel):
    """Computes logits of classes for each image.

        logits = Dropout(pool(ImageEncoder(image))) W + b

    Axes: B batch, H rows, W columns, C classes.

    Args:
        config: Sizes and rates.

    Call arguments:
        inputs: Dictionary of `images`, uint8 or float `[B, H, W, 3]`, values from 0 to 255, of the size
            `config.image_size`.

    Returns:
        Logits `[B, C]` in the compute dtype.
    """

    config_class, default_name = ImageClassifierConfig, "image_classifier"

    def __init__(self, config: ImageClassifierConfig, **kwargs):
        super().__init__(config, **kwargs)
        policy = self.dtype_policy
        tokens = config.num_class_tokens
        self.image_encoder = ImageEncoder(config, num_class_tokens=tokens, dtype=policy, name="image_encoder")
        self.pooling = AttentionPooling(dtype=policy, name="pooling") if config.pooling == "attention" else None
        self.head_dropout = Dropout(config.dropout, dtype=policy, name="head_dropout")
        self.head = keras.layers.Dense(config.num_classes, dtype=policy, name="head")

    def build(self, inputs_shape=None):
        self.image_encoder.build()
        if self.pooling is not None:
            self.pooling.build((None, None, self.config.hidden_dim))
        self.head.build((None, self.config.hidden_dim * max(1, self.config.num_class_tokens)))
        self.built = True

    def call(self, inputs, training=None):
        return self.head(self.head_dropout(self.pooled(inputs)))

    def attention_rollout(self, images):
        """Computes how much of the prediction comes from each cell, through the attention of all blocks.

        With the mean weights A of the heads of a block, half of what a block passes on is its input: the shares are
        p (A_N + I) / 2 ... (A_1 + I) / 2, where p are those of the pooling (Abnar and Zuidema 2020, eq. 1).

        Args:
            images: As for a call, `[B, H, W, 3]`.

        Returns:
            Float32 `[B, rows, columns]`. The sum over all cells is 1, with class tokens less.
        """
        x, scores = self.image_encoder.encoder(self.image_encoder.embed(images), return_attention_scores=True)
        batch, steps, _ = ops.shape(x)
        tokens = self.config.num_class_tokens
        if tokens:
            share = ops.broadcast_to(ops.cast(ops.arange(steps) < tokens, "float32") / tokens, (batch, steps))
        elif self.pooling is None:
            share = ops.full((batch, steps), 1 / steps)
        else:
            share = self.pooling.weights_of_steps(x)[:, 0]
        for weights in reversed(scores):
            mean = ops.mean(ops.cast(weights, "float32"), axis=1)
            share = (share + ops.einsum("bi,bij->bj", share, mean)) / 2
        return ops.reshape(share[:, tokens:], (batch, self.config.grid_size, self.config.grid_size))

    def pooled(self, inputs):
        """Returns one vector for each image, `[B, D]`."""
        size = self.config.image_size
        x = self.image_encoder(ops.reshape(inputs["images"], (-1, size, size, 3)))  # Sizes are known in graphs, too.
        if tokens := self.config.num_class_tokens:
            return ops.reshape(x[:, :tokens], (-1, tokens * self.config.hidden_dim))
        return ops.mean(x, axis=1) if self.pooling is None else self.pooling(x)
