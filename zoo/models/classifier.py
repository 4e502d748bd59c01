"""Model that classifies texts."""

import keras

from keras_transformer import AttentionPooling
from keras_transformer.layers.dropout import Dropout
from zoo.config import ClassifierConfig
from zoo.models.encoder_model import EncoderModel
from zoo.models.ngram_logits import NGramLogits
from zoo.models.text_encoder import masked_mean


@keras.saving.register_keras_serializable("zoo")
class Classifier(EncoderModel):
    """Computes logits of classes for each text.

        logits = Dropout([act](pool(TextEncoder(ids)) [W' + b'])) W + b [+ NGramLogits(ids)]

    Axes: B batch, T steps, C classes.

    Args:
        config: Sizes and rates.

    Call arguments:
        inputs: As for `TextEncoder`.

    Returns:
        Logits `[B, C]` in the compute dtype.
    """

    config_class, default_name = ClassifierConfig, "classifier"

    def __init__(self, config: ClassifierConfig, **kwargs):
        super().__init__(config, **kwargs)
        policy = self.dtype_policy
        self.pooling = self.pooler = self.ngrams = None
        if config.pooling == "attention":
            self.pooling = AttentionPooling(config.num_heads, dtype=policy, name="pooling")
        if config.pooler != "none":
            self.pooler = keras.layers.Dense(config.hidden_dim, config.pooler, dtype=policy, name="pooler")
        if config.ngrams:
            self.ngrams = NGramLogits(config.ngrams, config.num_classes, dtype=policy, name="ngrams")
        self.head_dropout = Dropout(config.dropout, dtype=policy, name="head_dropout")
        self.head = keras.layers.Dense(config.num_classes, dtype=policy, name="head")

    def build(self, inputs_shape=None):
        super().build()
        if self.pooling is not None:
            self.pooling.build((None, None, self.config.hidden_dim))
        if self.pooler is not None:
            self.pooler.build((None, self.config.hidden_dim))
        if self.ngrams is not None:
            self.ngrams.build()
        self.head.build((None, self.config.hidden_dim))

    def call(self, inputs, training=None):
        logits = self.head(self.head_dropout(self.pooled(inputs)))
        return logits if self.ngrams is None else logits + self.ngrams(inputs["token_ids"])

    def pooled(self, inputs):
        """Returns one vector for each text, `[B, D]`."""
        x, mask = self.text_encoder(inputs)
        if self.config.pooling == "first":
            x = x[:, 0]
        else:
            x = masked_mean(x, mask) if self.pooling is None else self.pooling(x, mask=mask)
        return x if self.pooler is None else self.pooler(x)
