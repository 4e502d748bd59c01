"""Encoder and a dense layer for every step: token ids in, label logits out."""

import dataclasses

import keras

from keras_transformer.layers.dropout import Dropout
from zoo.config import TaggerConfig
from zoo.models.text_encoder import TextEncoder


@keras.saving.register_keras_serializable("zoo")
class Tagger(keras.Model):
    """Labels of steps.

        logits = Dropout(TextEncoder(ids)) W + b

    Axes: B batch, T steps, L labels.

    Args:
        config: Sizes and rates.

    Call arguments:
        inputs: As for `TextEncoder`.

    Returns:
        Logits `[B, T, L]` in the compute dtype.
    """

    def __init__(self, config: TaggerConfig, **kwargs):
        kwargs.setdefault("name", "tagger")
        super().__init__(**kwargs)
        self.config = config
        policy = self.dtype_policy
        self.text_encoder = TextEncoder(config, dtype=policy, name="text_encoder")
        self.head_dropout = Dropout(config.dropout, dtype=policy, name="head_dropout")
        self.head = keras.layers.Dense(config.num_labels, dtype=policy, name="head")

    def build(self, inputs_shape=None):
        self.text_encoder.build()
        self.head.build((None, None, self.config.hidden_dim))
        self.built = True

    def call(self, inputs, training=None):
        return self.head(self.head_dropout(self.text_encoder(inputs)[0]))

    def get_config(self):
        return {**super().get_config(), "config": dataclasses.asdict(self.config)}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "config": TaggerConfig(**config["config"])})
