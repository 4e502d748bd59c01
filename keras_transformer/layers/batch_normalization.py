"""Batch normalisation with statistics of real cells, of all replicas."""

import keras
from keras import ops

from keras_transformer.ops import masks
from keras_transformer.ops.arguments import check_positive_numbers
from keras_transformer.ops.precision import at_least_float32
from keras_transformer.ops.statistics import mean_over_replicas, real_and_count


@keras.saving.register_keras_serializable("keras_transformer")
class BatchNormalization(keras.layers.Layer):
    """Normalises each channel by its mean and variance over the batch.

        y = gamma (x - mean) / sqrt(variance + epsilon) + beta

    Ioffe and Szegedy (2015), algorithm 1. The statistics are over the real cells of the batch, of all replicas of a
    `tf.distribute` strategy; `keras.layers.BatchNormalization` does one or the other, and the latter only if it is
    told so. In inference, and if the layer is not trainable, moving averages take their place, so that an output
    depends on nothing but its own row:

        average <- momentum average + (1 - momentum) statistic

    Convolutional networks learn in far fewer epochs with it than with layer normalisation. In training, the outputs of
    a row depend on the other rows: gradients that are accumulated over micro-batches are not those of one large batch.

    Axes: B batch, C channels; statistics and weights have shape `[C]`.

    Args:
        momentum: Share that the moving averages keep at each training step.
        epsilon: Added to the variance.

    Call arguments:
        inputs: Float `[B, ..., C]`.
        mask: Boolean of the shape of `inputs` without the last axis, True at real cells; defaults to the mask that
            `inputs` carries. The others are normalised, too, but do not count into the statistics.
        training: Whether to use the statistics of the batch, and to update their moving averages.

    Returns:
        Float of the shape of `inputs`, with their mask. Half precision is normalised in float32.

    Raises:
        ValueError: If a setting is out of range, C is unknown, or the mask has the wrong shape.
    """

    def __init__(self, momentum: float = 0.9, epsilon: float = 1e-5, **kwargs):
        super().__init__(**kwargs)
        if not 0 <= momentum < 1:
            raise ValueError(f"`momentum` must be at least 0 and less than 1. Received: momentum={momentum!r}.")
        check_positive_numbers(epsilon=epsilon)
        self.momentum = momentum
        self.epsilon = epsilon
        self.supports_masking = True

    def build(self, inputs_shape):
        channels = inputs_shape[-1]
        if channels is None:
            raise ValueError(
                "`inputs` must have a known number of channels. Received: inputs_shape="
                f"{tuple(inputs_shape)}. Give the last axis a size."
            )
        vector = {"shape": (channels,), "autocast": False}
        self.gamma = self.add_weight(name="gamma", initializer="ones", **vector)
        self.beta = self.add_weight(name="beta", initializer="zeros", **vector)
        state = {"trainable": False, "aggregation": "mean"}  # It is the same on all replicas.
        self.moving_mean = self.add_weight(name="moving_mean", initializer="zeros", **state, **vector)
        self.moving_variance = self.add_weight(name="moving_variance", initializer="ones", **state, **vector)

    def call(self, inputs, mask=None, training=None):
        x = at_least_float32(inputs)
        mean, variance = (ops.cast(each, x.dtype) for each in (self.moving_mean, self.moving_variance))
        if training and self.trainable:
            mean, variance = self._statistics(x, masks.attached_mask(inputs, mask), mean, variance)
        scale = ops.cast(self.gamma, x.dtype) * ops.rsqrt(variance + self.epsilon)
        outputs = (x - mean) * scale + ops.cast(self.beta, x.dtype)
        return ops.cast(outputs, self.compute_dtype)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        return {**super().get_config(), "momentum": self.momentum, "epsilon": self.epsilon}

    def _statistics(self, x, mask, moving_mean, moving_variance):
        """Returns mean and variance `[C]` of the real cells of all replicas, and updates the moving averages."""
        real, count = real_and_count(x, mask)
        real = None if mask is None else real
        mean = mean_over_replicas(x, real, count)
        variance = mean_over_replicas(ops.square(x - mean), real, count)
        rate = ops.cast(ops.where(count > 0, 1 - self.momentum, 0), x.dtype)  # Nothing changes if all is padding.
        self.moving_mean.assign(moving_mean + rate * (mean - moving_mean))
        self.moving_variance.assign(moving_variance + rate * (variance - moving_variance))
        return mean, variance
