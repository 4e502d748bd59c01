"""A bare encoder: token ids in, hidden states out."""

import dataclasses

import keras

from zoo.config import EncoderConfig
from zoo.models.text_encoder import TextEncoder


@keras.saving.register_keras_serializable("zoo")
class EncoderModel(keras.Model):
    """A `TextEncoder` as a model: token ids to hidden states.

    Args:
        config: Sizes and rates.

    Call arguments:
        inputs: As for `TextEncoder`.

    Returns:
        Float `[B, T, D]`.
    """

    def __init__(self, config: EncoderConfig, **kwargs):
        kwargs.setdefault("name", "encoder_model")
        super().__init__(**kwargs)
        self.config = config
        self.text_encoder = TextEncoder(config, dtype=self.dtype_policy, name="text_encoder")

    def build(self, inputs_shape=None):
        self.text_encoder.build()
        self.built = True

    def call(self, inputs, training=None):
        return self.text_encoder(inputs)[0]

    def get_config(self):
        return {**super().get_config(), "config": dataclasses.asdict(self.config)}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "config": EncoderConfig(**config["config"])})
