"""Label-smoothed cross entropy over real tokens, with a custom gradient."""

from typing import Any

import keras
from keras import ops

from keras_transformer.ops.replicas import num_replicas, sum_over_replicas
from keras_transformer.ops.updates import add_to_each_row
from keras_transformer.ops.values import check_labels


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
        y_true: Integers `[B, T]` or, as in Keras, `[B, T, 1]`: `pad_id` or classes in `[0, V)`.
        y_pred: Logits `[B, T, V]`; any float dtype, computed in float32.
        sample_weight: Optional weights, `[B]`, `[B, 1]` or `[B, T]`, or with a last axis of 1 as the labels.

    Returns:
        Float32 scalar; 0 if there is no real token.

    Raises:
        ValueError: If shapes do not fit, the smoothing is outside [0, 1), or an eager call gets labels outside of
            `[0, V)` other than `pad_id`. A TensorFlow graph fails with `InvalidArgumentError` then; under XLA, in
            compiled calls on JAX and after `keras_transformer.set_value_checks(False)` the loss is NaN.
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
        if keras.backend.standardize_dtype(y_true.dtype) != "int64":
            y_true = ops.cast(y_true, "int32")  # Small integers may not hold `pad_id`.
        if len(y_true.shape) == len(y_pred.shape) and y_true.shape[-1] == 1:
            y_true = ops.squeeze(y_true, -1)
        if not _fits(y_true.shape, y_pred.shape[:-1]):
            raise ValueError(
                "`y_pred` must be logits with one more axis than the integer labels `y_true`. "
                f"Received: y_true.shape={tuple(y_true.shape)}, y_pred.shape={tuple(y_pred.shape)}."
            )
        # No weight but NaN is right for a label that is no class: no weight of 0 makes it unseen.
        weights = ops.where(check_labels(y_true, y_pred.shape[-1], self.pad_id), 1.0, float("nan"))
        if self.pad_id is not None:
            weights = ops.where(ops.equal(y_true, self.pad_id), 0.0, weights)
        if sample_weight is not None:
            weights = weights * _broadcastable(ops.cast(sample_weight, "float32"), y_true)
        total = ops.sum(weights * self.call(y_true, y_pred))
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


def _broadcastable(sample_weight, labels):
    """Returns weights `[B]`, `[B, 1]`, `[B, T]` or with a last axis of 1 in a shape that broadcasts to labels."""
    received, rank = sample_weight.shape, len(labels.shape)
    if len(received) == rank + 1 and received[-1] == 1:
        sample_weight = ops.squeeze(sample_weight, -1)
    missing = rank - len(sample_weight.shape)
    if missing < 0 or not _fits(sample_weight.shape, labels.shape[: len(sample_weight.shape)], broadcast=True):
        raise ValueError(
            "`sample_weight` must have shape [batch], [batch, 1] or that of the labels. "
            f"Received: sample_weight.shape={tuple(received)}, y_true.shape={tuple(labels.shape)}."
        )
    return ops.reshape(sample_weight, (*ops.shape(sample_weight), *(1,) * missing))


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


def _fits(received, expected, broadcast=False):
    # A size that is unknown is None, on JAX a symbol.
    return len(received) == len(expected) and all(
        size == wanted or (broadcast and size == 1)
        for size, wanted in zip(received, expected)
        if isinstance(size, int) and isinstance(wanted, int)
    )


def smoothed_cross_entropy(labels: Any, logits: Any, label_smoothing: float = 0.0) -> Any:
    """Computes the loss of every token, float32 `[...]`, from labels `[...]` and logits `[..., V]`.

    The custom gradient, `softmax(z) - q`, uses the exponentials of the forward pass: no one-hot of the vocabulary, no
    second exponential, and fewer passes over the logits than automatic differentiation makes. Otherwise the loss of a
    small model would cost more than the model.
    """
    if 0 in labels.shape:  # Keras takes no maximum of nothing.
        return ops.sum(ops.cast(logits, "float32"), axis=-1)
    vocabulary_size = logits.shape[-1]
    # Labels that are no class, such as a padding of -1, need some class; callers give them no weight.
    flat_labels = ops.clip(ops.cast(ops.reshape(labels, (-1,)), "int32"), 0, vocabulary_size - 1)
    flat_logits = ops.reshape(logits, (-1, vocabulary_size))
    even = label_smoothing / vocabulary_size

    @ops.custom_gradient
    def per_token(flat_logits):
        z = ops.cast(flat_logits, "float32")
        largest = ops.max(z, axis=-1)
        powers = ops.exp(z - largest[:, None])
        total = ops.sum(powers, axis=-1)
        gold = ops.squeeze(ops.take_along_axis(z, flat_labels[:, None], axis=-1), -1)
        losses = ops.log(total) + (1.0 - label_smoothing) * (largest - gold)
        if label_smoothing:
            losses = losses + even * (vocabulary_size * largest - ops.sum(z, axis=-1))

        def gradient(*args, upstream=None):
            upstream = args[0] if upstream is None else upstream
            weight = ops.cast(upstream, "float32")
            slope = powers * (weight / total)[:, None]
            if label_smoothing:
                slope = slope - (even * weight)[:, None]
            slope = add_to_each_row(slope, flat_labels, (label_smoothing - 1.0) * weight)
            return ops.cast(slope, flat_logits.dtype)

        return losses, gradient

    return ops.reshape(per_token(flat_logits), ops.shape(labels))
