"""The loss of models that predict lengths and tokens."""

import keras
from keras import ops

from keras_transformer.training import TokenCrossEntropy
from keras_transformer.training.losses import smoothed_cross_entropy


@keras.saving.register_keras_serializable("zoo")
class LengthAndTokenCrossEntropy(TokenCrossEntropy):
    """`TokenCrossEntropy` of tokens behind the cross entropy of a length, which is not smoothed and counts as a token.

    Args:
        num_lengths: Number of classes of lengths; 0 if the length is not predicted.
        num_tokens: Size of the vocabulary.
        options: As for `TokenCrossEntropy`.
    """

    def __init__(self, num_lengths: int, num_tokens: int, **options):
        super().__init__(**options)
        self.num_lengths, self.num_tokens = num_lengths, num_tokens

    def call(self, y_true, y_pred):
        if not self.num_lengths:
            return super().call(y_true, y_pred)
        lengths = smoothed_cross_entropy(y_true[:, :1], y_pred[:, :1, : self.num_lengths])
        return ops.concatenate([lengths, super().call(y_true[:, 1:], y_pred[:, 1:, : self.num_tokens])], axis=1)

    def get_config(self):
        return {**super().get_config(), "num_lengths": self.num_lengths, "num_tokens": self.num_tokens}
