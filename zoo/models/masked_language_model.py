"""Encoder and tied output: the token that stands behind a mask, and bare encoders."""

import dataclasses

import keras

from keras_transformer.layers.dense import Dense
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


@keras.saving.register_keras_serializable("zoo")
class MaskedLanguageModel(EncoderModel):
    """Which token each step holds (Devlin et al. 2019, section 3.1), by the table of the embeddings.

        logits = LayerNorm(gelu(TextEncoder(ids) W + b)) E^T + c

    Axes: B batch, T steps, V vocabulary.

    Returns:
        Logits `[B, T, V]` in the compute dtype.
    """

    def __init__(self, config: EncoderConfig, **kwargs):
        kwargs.setdefault("name", "masked_language_model")
        super().__init__(config, **kwargs)
        policy = self.dtype_policy
        self.transform = Dense(config.hidden_dim, "gelu", dtype=policy, name="transform")
        self.norm = keras.layers.LayerNormalization(epsilon=config.epsilon, dtype=policy, name="norm")

    def build(self, inputs_shape=None):
        super().build()
        vectors = (None, None, self.config.hidden_dim)
        self.transform.build(vectors)
        self.norm.build(vectors)
        self.output_bias = self.add_weight(
            name="output_bias", shape=(self.config.vocabulary_size,), initializer="zeros"
        )

    def call(self, inputs, training=None):
        x = self.norm(self.transform(super().call(inputs)))
        logits = self.text_encoder.logits(x)
        return logits + keras.ops.cast(self.output_bias, logits.dtype)
