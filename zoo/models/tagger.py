"""Encoder and a dense layer for every step: token ids in, label logits out."""

import dataclasses

import keras

from keras_transformer import TokenEmbedding
from keras_transformer.layers.dropout import Dropout
from zoo.config import NUM_WORD_SHAPES, TaggerConfig
from zoo.models.text_encoder import TextEncoder


@keras.saving.register_keras_serializable("zoo")
class Tagger(keras.Model):
    """Labels of steps.

        logits = Dropout(TextEncoder(ids, H[shapes])) W + b

    Axes: B batch, T steps, L labels.

    Args:
        config: Sizes and rates.

    Call arguments:
        inputs: As for `TextEncoder`; for a model of word shapes with int `shape_ids` `[B, T]` of `zoo.word_shapes`.

    Returns:
        Logits `[B, T, L]` in the compute dtype.
    """

    def __init__(self, config: TaggerConfig, **kwargs):
        kwargs.setdefault("name", "tagger")
        super().__init__(**kwargs)
        self.config = config
        policy = self.dtype_policy
        self.text_encoder = TextEncoder(config, dtype=policy, name="text_encoder")
        self.shapes = None
        if config.word_shapes:  # Zeros: an encoder that never saw shapes begins as it is.
            options = {"mask_zero": False, "scale": False, "embeddings_initializer": "zeros"}
            self.shapes = TokenEmbedding(NUM_WORD_SHAPES, config.hidden_dim, **options, dtype=policy, name="shapes")
        self.head_dropout = Dropout(config.dropout, dtype=policy, name="head_dropout")
        self.head = keras.layers.Dense(config.num_labels, dtype=policy, name="head")

    def build(self, inputs_shape=None):
        self.text_encoder.build()
        if self.shapes is not None:
            self.shapes.build()
        self.head.build((None, None, self.config.hidden_dim))
        self.built = True

    def call(self, inputs, training=None):
        shapes = None if self.shapes is None else self.shapes(inputs["shape_ids"])
        return self.head(self.head_dropout(self.text_encoder(inputs, shapes)[0]))

    def get_config(self):
        return {**super().get_config(), "config": dataclasses.asdict(self.config)}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "config": TaggerConfig(**config["config"])})
