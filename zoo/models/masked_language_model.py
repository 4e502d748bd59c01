"""Model that predicts masked tokens."""

import keras
from keras import ops

from keras_transformer.layers.dense import Dense
from keras_transformer.layers.normalization import LayerNormalization
from zoo.config import EncoderConfig
from zoo.models.encoder_model import EncoderModel


@keras.saving.register_keras_serializable("zoo")
class MaskedLanguageModel(EncoderModel):
    """Computes logits of the tokens at some steps, by the embedding table (Devlin et al. 2019, section 3.1).

        logits = LayerNorm(gelu(TextEncoder(ids)[positions] W + b)) E^T + c

    Axes: B batch, T steps, M masked steps, V vocabulary.

    Args:
        config: Sizes and rates.

    Call arguments:
        inputs: As for `TextEncoder`, with int `positions` `[B, M]`, the steps to predict.

    Returns:
        Logits `[B, M, V]` in the compute dtype.
    """

    default_name = "masked_language_model"

    def __init__(self, config: EncoderConfig, **kwargs):
        super().__init__(config, **kwargs)
        policy = self.dtype_policy
        self.transform = Dense(config.hidden_dim, "gelu", dtype=policy, name="transform")
        self.norm = LayerNormalization(config.epsilon, dtype=policy, name="norm")

    def build(self, inputs_shape=None):
        vectors = (None, None, self.config.hidden_dim)
        self.transform.build(vectors)
        self.norm.build(vectors)
        self.output_bias = self.add_weight(
            name="output_bias", shape=(self.config.vocabulary_size,), initializer="zeros"
        )
        super().build()

    def call(self, inputs, training=None):
        x = ops.take_along_axis(super().call(inputs), inputs["positions"][:, :, None], axis=1)
        logits = self.text_encoder.embedding.logits(self.norm(self.transform(x)))
        return logits + ops.cast(self.output_bias, logits.dtype)
