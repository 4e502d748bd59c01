"""Model that labels words."""

import keras

from keras_transformer.layers.dropout import Dropout
from zoo.config import TaggerConfig
from zoo.models.encoder_model import WordModel


@keras.saving.register_keras_serializable("zoo")
class Tagger(WordModel):
    """Computes logits of labels for each step.

        logits = Dropout(TextEncoder(ids, CharacterEncoder(characters))) W + b

    Axes: B batch, T steps, L labels.

    Args:
        config: Sizes and rates.

    Call arguments:
        inputs: As for `TextEncoder`; for a model that reads characters also int `character_ids` `[B, T, K]`, those of
            the word that each token belongs to; see `zoo.text.word_characters`.

    Returns:
        Logits `[B, T, L]` in the compute dtype.
    """

    config_class, default_name = TaggerConfig, "tagger"

    def __init__(self, config: TaggerConfig, **kwargs):
        super().__init__(config, **kwargs)
        self.head_dropout = Dropout(config.dropout, dtype=self.dtype_policy, name="head_dropout")
        self.head = keras.layers.Dense(config.num_labels, dtype=self.dtype_policy, name="head")

    def build(self, inputs_shape=None):
        super().build()
        self.head.build((None, None, self.config.hidden_dim))

    def call(self, inputs, training=None):
        return self.head(self.head_dropout(self.hidden_states(inputs)))
