"""Encoder and a dense layer for every step: token ids in, label logits out."""

import dataclasses

import keras

from keras_transformer.layers.dropout import Dropout
from zoo.config import TaggerConfig
from zoo.models.character_encoder import CharacterEncoder
from zoo.models.text_encoder import TextEncoder


@keras.saving.register_keras_serializable("zoo")
class Tagger(keras.Model):
    """Labels of steps.

        logits = Dropout(TextEncoder(ids, CharacterEncoder(characters))) W + b

    Axes: B batch, T steps, L labels.

    Args:
        config: Sizes and rates.

    Call arguments:
        inputs: As for `TextEncoder`; for a model of characters with int `character_ids` `[B, T, K]`, those of the word
            that each token belongs to; see `zoo.text.word_characters`.

    Returns:
        Logits `[B, T, L]` in the compute dtype.
    """

    def __init__(self, config: TaggerConfig, **kwargs):
        kwargs.setdefault("name", "tagger")
        super().__init__(**kwargs)
        self.config = config
        policy = self.dtype_policy
        self.text_encoder = TextEncoder(config, dtype=policy, name="text_encoder")
        self.characters = None
        if config.character_filters:
            sizes = config.character_filters, config.hidden_dim
            self.characters = CharacterEncoder(*sizes, dtype=policy, name="characters")
        self.head_dropout = Dropout(config.dropout, dtype=policy, name="head_dropout")
        self.head = keras.layers.Dense(config.num_labels, dtype=policy, name="head")

    def build(self, inputs_shape=None):
        self.text_encoder.build()
        if self.characters is not None:
            self.characters.build()
        self.head.build((None, None, self.config.hidden_dim))
        self.built = True

    def call(self, inputs, training=None):
        added = None if self.characters is None else self.characters(inputs["character_ids"])
        return self.head(self.head_dropout(self.text_encoder(inputs, added)[0]))

    def get_config(self):
        return {**super().get_config(), "config": dataclasses.asdict(self.config)}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "config": TaggerConfig(**config["config"])})
