"""The losses of models that predict all tokens at once."""

import keras
from keras import ops

from keras_transformer.training import TokenCrossEntropy
from keras_transformer.training.losses import smoothed_cross_entropy
from zoo.config import END_ID, PAD_ID, NonAutoregressiveConfig
from zoo.training.text_ctc import text_ctc


def parallel_loss(config: NonAutoregressiveConfig, label_smoothing: float = 0.0) -> keras.losses.Loss:
    """Returns the loss of a model of this configuration, a sum over tokens.

    Raises:
        ValueError: If that of aligned outputs is to be smoothed.
    """
    if config.lengths == "aligned":
        if label_smoothing:
            raise ValueError(
                f"The loss of aligned outputs cannot be smoothed. Received: label_smoothing={label_smoothing}. Set "
                "training.label_smoothing=0, or take the recipe `aligned`."
            )
        return AlignmentLoss()
    sizes = config.num_length_classes, config.vocabulary_size
    return LengthAndTokenCrossEntropy(*sizes, label_smoothing=label_smoothing, reduction="sum")


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


@keras.saving.register_keras_serializable("zoo")
class AlignmentLoss(keras.losses.Loss):
    """Negative log-probability of translations, by all their alignments to the positions of an aligned output; a sum.

    Call arguments:
        y_true: Integers `[B, T]`, each row ended by the end token and padded with 0.
        y_pred: Logits `[B, F, V]`. The end token is the blank.
        sample_weight: Optional weights `[B]` or `[B, 1]`.
    """

    def __init__(self, name: str = "alignment_loss", **kwargs):
        super().__init__(name=name, **{**kwargs, "reduction": "sum"})

    def __call__(self, y_true, y_pred, sample_weight=None):
        losses = text_ctc(y_true, y_pred, END_ID, (PAD_ID, END_ID))
        if sample_weight is not None:
            losses = losses * ops.reshape(ops.cast(sample_weight, losses.dtype), (-1,))
        return ops.sum(losses)

    def get_config(self):
        return {"name": self.name}
