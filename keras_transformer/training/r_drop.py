"""R-Drop: two passes of dropout over an example have to agree."""

from typing import Any

import keras
from keras import ops

from keras_transformer.training.losses import TokenCrossEntropy


@keras.saving.register_keras_serializable("keras_transformer")
class RDropCrossEntropy(TokenCrossEntropy):
    """Cross entropy of examples that stand in the batch twice, with a price on what dropout changes.

        loss = (CE(y, p1) + CE(y, p2)) / 2 + alpha / 4 (KL(p1 || p2) + KL(p2 || p1))

    (half of eq. 4 of Liang et al. 2021, so that `alpha` is theirs and 0 is `TokenCrossEntropy`; 5 in their
    translations). Rows 2i and 2i + 1 of a batch are the same example, which the layers drop differently:
    `numpy.repeat(batch, 2, axis=0)` makes such a batch, at twice the cost of a step.

    Args:
        alpha: The price of the divergence.
        label_smoothing, pad_id, reduction: As in `TokenCrossEntropy`.

    Raises:
        ValueError: If the number of rows is odd, `alpha` negative, or as `TokenCrossEntropy` does.
    """

    def __init__(self, alpha: float, label_smoothing: float = 0.0, name: str = "r_drop_cross_entropy", **kwargs):
        if not alpha >= 0:
            raise ValueError(f"`alpha` must be 0 or more. Received: alpha={alpha}.")
        super().__init__(label_smoothing, name=name, **kwargs)
        self.alpha = alpha

    def call(self, y_true, y_pred):
        return super().call(y_true, y_pred) + 0.5 * self.alpha * twin_divergence(y_pred)

    def get_config(self):
        return {**super().get_config(), "alpha": self.alpha}


def twin_divergence(logits: Any) -> Any:
    """KL(p_r || p_s) of each row r and its twin s, the other row of its pair: `[2B, T, V]` to float32 `[2B, T]`.

    The gradient is written by hand, in the dtype of the logits, as that of `smoothed_cross_entropy`.
    """
    rows, *_, vocabulary_size = logits.shape
    if isinstance(rows, int) and rows % 2:
        raise ValueError(
            f"Rows must come in pairs, each example twice in a row. Received: {rows} rows. "
            "Make the batch with numpy.repeat(batch, 2, axis=0)."
        )

    @ops.custom_gradient
    def per_token(pairs):
        logs = ops.log_softmax(ops.cast(pairs, "float32"))
        probabilities = ops.exp(logs)
        ratios = logs - ops.flip(logs, axis=1)
        divergences = ops.sum(probabilities * ratios, axis=-1)

        def gradient(*args, upstream=None):
            weight = ops.cast(args[0] if upstream is None else upstream, "float32")
            own = probabilities * (ratios - divergences[..., None])
            of_twin = probabilities - ops.flip(probabilities, axis=1)
            slope = weight[..., None] * own + ops.flip(weight, axis=1)[..., None] * of_twin
            return ops.cast(slope, pairs.dtype)

        return divergences, gradient

    shape = ops.shape(logits)
    pairs = ops.reshape(logits, (-1, 2, *shape[1:-1], vocabulary_size))
    return ops.reshape(per_token(pairs), shape[:-1])
