"""The loss of models that recognize speech."""

import keras
from keras import ops

from keras_transformer.training import TokenCrossEntropy
from zoo.training.text_ctc import text_ctc


@keras.saving.register_keras_serializable("zoo")
class CTCAndTokenCrossEntropy(keras.losses.Loss):
    """Cross entropy of the decoder and connectionist temporal classification (CTC; Graves et al. 2006) of the frames.

        loss = (1 - w) TokenCrossEntropy(decoder) + w CTC(frames)

    (Watanabe et al. 2017, eq. 27.) Both are sums over the rows of a batch. The blank is the padding, and frames of
    padding are blank for certain, so that all frames count.
    Axes: B batch, T target steps, F frames, V vocabulary.

    Args:
        ctc_weight: w.
        end_id: Token at the end of texts, which has no frame.
        label_smoothing: Of the decoder.
        pad_id: Padding and blank.

    Call arguments:
        y_true: Integers `[B, T]`, each row ended by `end_id` and padded.
        y_pred: Logits `[B, T + F, V]`: those of the decoder, then those of the frames.
        sample_weight: Optional weights `[B]` or `[B, 1]`.
    """

    def __init__(
        self,
        ctc_weight: float,
        end_id: int,
        label_smoothing: float = 0.0,
        pad_id: int = 0,
        name: str = "ctc_and_token_cross_entropy",
        **kwargs,
    ):
        super().__init__(name=name, **{**kwargs, "reduction": "sum"})
        self.ctc_weight, self.end_id, self.label_smoothing, self.pad_id = ctc_weight, end_id, label_smoothing, pad_id
        self._of_decoder = TokenCrossEntropy(label_smoothing, pad_id, "sum")

    def __call__(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred = ops.cast(y_true, "int32"), ops.convert_to_tensor(y_pred)
        steps = ops.shape(y_true)[1]
        decoder = self._of_decoder(y_true, y_pred[:, :steps], sample_weight)
        ctc = self.ctc(y_true, y_pred[:, steps:])
        if sample_weight is not None:
            ctc = ctc * ops.reshape(ops.cast(sample_weight, ctc.dtype), (-1,))
        return (1 - self.ctc_weight) * decoder + self.ctc_weight * ops.sum(ctc)

    def ctc(self, y_true, logits):
        """Computes the negative log-probability of texts `[B, T]` given logits of frames, float32 `[B]`."""
        return text_ctc(y_true, logits, self.pad_id, (self.pad_id, self.end_id))

    def get_config(self):
        names = "ctc_weight", "end_id", "label_smoothing", "pad_id"
        return {"name": self.name, **{name: getattr(self, name) for name in names}}
