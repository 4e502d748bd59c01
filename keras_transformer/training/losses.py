"""Label-smoothed cross entropy over real tokens, with a custom gradient."""

from typing import Any

import keras
from keras import ops

from keras_transformer.ops.replicas import num_replicas, sum_over_replicas


@keras.saving.register_keras_serializable("keras_transformer")
class TokenCrossEntropy(keras.losses.Loss):
    """Computes the label-smoothed cross entropy of integer labels, averaged over the real tokens of a batch.

        loss(y, z) = -sum_v q(v) log softmax(z)_v,  q(v) = (1 - e) [v = y] + e / V

    (Szegedy et al. 2016, section 7; e = 0.1 in Vaswani et al. 2017). Keras's own loss averages over a
    batch with its padding unless the logits carry a mask; this one finds the padding in the labels.

    Args:
        label_smoothing: Probability e spread evenly over the vocabulary.
        pad_id: Label that is ignored; None for none.
        reduction: "mean" divides the sum by the sum of the weights of real tokens, those of all replicas under a
            `tf.distribute` strategy; "sum" does not, for callers whose `sample_weight` includes the division
            (gradient accumulation).

    Call arguments:
        y_true: Integers `[B, T]`.
        y_pred: Logits `[B, T, V]`; any float dtype, computed in float32.
        sample_weight: Optional weights, `[B]` or `[B, T]`.

    Returns:
        Float32 scalar; 0 if there is no real token.

    Raises:
        ValueError: If shapes do not fit or the smoothing is outside [0, 1).
    """

    def __init__(
        self,
        label_smoothing: float = 0.0,
        pad_id: int | None = 0,
        reduction: str = "mean",
        name: str = "token_cross_entropy",
        **kwargs,
    ):
        if not 0 <= label_smoothing < 1:
            raise ValueError(f"`label_smoothing` must lie in [0, 1). Received: label_smoothing={label_smoothing}.")
        if reduction not in ("mean", "sum"):
            raise ValueError(f"`reduction` must be 'mean' or 'sum'. Received: reduction={reduction!r}.")
        super().__init__(name=name, reduction=reduction, **kwargs)
        self.label_smoothing = label_smoothing
        self.pad_id = pad_id

    def __call__(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred = ops.convert_to_tensor(y_true), ops.convert_to_tensor(y_pred)
        if not _fits(y_true.shape, y_pred.shape[:-1]):
            raise ValueError(
                "`y_pred` must be logits with one more axis than the integer labels `y_true`. "
                f"Received: y_true.shape={tuple(y_true.shape)}, y_pred.shape={tuple(y_pred.shape)}."
            )
        weights = ops.ones_like(y_true, "float32")
        if self.pad_id is not None:
            weights = ops.cast(ops.not_equal(y_true, self.pad_id), "float32")
        if sample_weight is not None:
            sample_weight = ops.cast(sample_weight, "float32")
            missing = len(y_true.shape) - len(sample_weight.shape)
            if not _fits(sample_weight.shape, y_true.shape[: len(sample_weight.shape)]):
                raise ValueError(
                    "`sample_weight` must have shape [batch] or that of the labels. "
                    f"Received: sample_weight.shape={tuple(sample_weight.shape)}, y_true.shape={tuple(y_true.shape)}."
                )
            weights = weights * ops.reshape(sample_weight, (*ops.shape(sample_weight), *(1,) * missing))
        total = ops.sum(weights * smoothed_cross_entropy(y_true, y_pred, self.label_smoothing))
        if self.reduction == "sum":
            return total
        return _share_of_mean(total, ops.sum(weights), ops.cast(ops.shape(y_true)[0], "float32"))

    def call(self, y_true, y_pred):
        return smoothed_cross_entropy(y_true, y_pred, self.label_smoothing)

    def get_config(self):
        return {
            "name": self.name,
            "reduction": self.reduction,
            "label_smoothing": self.label_smoothing,
            "pad_id": self.pad_id,
        }


def _share_of_mean(total, weight, rows):
    """Returns this replica's share of the mean over all replicas; Keras sums the gradients of the replicas.

    Keras reports the mean of the values over the replicas, each multiplied by their number and weighted by its rows.
    The value is therefore scaled so that this becomes the mean over the tokens of all replicas; the gradient is not.
    """
    replicas = num_replicas()
    if replicas == 1:
        return ops.divide_no_nan(total, weight)
    all_weight, all_rows = ops.unstack(sum_over_replicas(ops.stack([weight, rows])))
    share = ops.divide_no_nan(total, all_weight)
    reported = share * ops.divide_no_nan(all_rows, replicas * rows)
    return share + ops.stop_gradient(reported - share)


def _fits(received, expected):
    # A size that is unknown is None, on JAX a symbol.
    return len(received) == len(expected) and all(
        size == wanted for size, wanted in zip(received, expected) if isinstance(size, int) and isinstance(wanted, int)
    )


def smoothed_cross_entropy(labels: Any, logits: Any, label_smoothing: float = 0.0) -> Any:
    """Computes the loss of every token, float32 `[...]`, from labels `[...]` and logits `[..., V]`.

    The custom gradient, `softmax(z) - q`, uses the exponentials of the forward pass: no one-hot of the vocabulary, no
    second exponential, and fewer passes over the logits than automatic differentiation makes. Otherwise the loss of a
    small model would cost more than the model.
    """
    vocabulary_size = logits.shape[-1]
    flat_labels = ops.maximum(ops.cast(ops.reshape(labels, (-1,)), "int32"), 0)  # -1 may stand for no label.
    flat_logits = ops.reshape(logits, (-1, vocabulary_size))
    even = label_smoothing / vocabulary_size

    @ops.custom_gradient
    def per_token(flat_logits):
        z = ops.cast(flat_logits, "float32")
        z = z - ops.max(z, axis=-1, keepdims=True)
        powers = ops.exp(z)
        total = ops.sum(powers, axis=-1)
        gold = ops.squeeze(ops.take_along_axis(z, flat_labels[:, None], axis=-1), -1)
        losses = ops.log(total) - (1.0 - label_smoothing) * gold
        if label_smoothing:
            losses = losses - even * ops.sum(z, axis=-1)

        def gradient(*args, upstream=None):
            upstream = args[0] if upstream is None else upstream
            weight = ops.cast(upstream, "float32")
            slope = powers * (weight / total)[:, None]
            if label_smoothing:
                slope = slope - (even * weight)[:, None]
            rows = ops.arange(ops.shape(flat_labels)[0], dtype="int32")
            spots = ops.stack([rows, flat_labels], axis=-1)
            at_gold = (ops.exp(gold) / total + (label_smoothing - 1.0 - even)) * weight
            dtype = flat_logits.dtype
            return ops.scatter_update(ops.cast(slope, dtype), spots, ops.cast(at_gold, dtype))

        return losses, gradient

    return ops.reshape(per_token(flat_logits), ops.shape(labels))
