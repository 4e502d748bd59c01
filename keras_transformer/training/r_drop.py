"""R-Drop: cross entropy of two passes with different dropout that should agree."""

import keras
from keras import ops

from keras_transformer.training.losses import TokenCrossEntropy


@keras.saving.register_keras_serializable("keras_transformer")
class RDropCrossEntropy(TokenCrossEntropy):
    """Adds to the cross entropy how far the predictions for two copies of each row are from each other.

        loss = -log p_1(y) - log p_2(y) + alpha / 2 (KL(p_1 || p_2) + KL(p_2 || p_1))

    (Liang et al. 2021, "R-Drop: Regularized Dropout for Neural Networks", eq. 3.) Rows 2 b and 2 b + 1 of a batch must
    be the same example, as `np.repeat(array, 2, axis=0)` makes them; dropout gives the two different masks.

    Args:
        alpha: Weight of the divergence; the paper uses 5 for translation.
        kwargs: Arguments of `TokenCrossEntropy`; its call arguments have an even number of rows.
    """

    def __init__(self, alpha: float = 5.0, name: str = "r_drop_cross_entropy", **kwargs):
        if alpha < 0:
            raise ValueError(f"`alpha` must be 0 or more. Received: alpha={alpha}.")
        super().__init__(name=name, **kwargs)
        self.alpha = alpha

    def call(self, y_true, y_pred):
        losses = super().call(y_true, y_pred)
        return losses + self.alpha / 2 * _divergence(y_pred)

    def get_config(self):
        return {**super().get_config(), "alpha": self.alpha}


def _divergence(logits):
    """Computes 1/2 (KL(p_1 || p_2) + KL(p_2 || p_1)) of neighbouring rows, for both of them."""
    log_probs = ops.log_softmax(ops.cast(logits, "float32"))
    pairs = ops.reshape(log_probs, (-1, 2, *ops.shape(logits)[1:]))
    first, second = pairs[:, 0], pairs[:, 1]
    both = ops.sum((ops.exp(first) - ops.exp(second)) * (first - second), axis=-1) / 2
    return ops.reshape(ops.repeat(both[:, None], 2, axis=1), ops.shape(logits)[:-1])
