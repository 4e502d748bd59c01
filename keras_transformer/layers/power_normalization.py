"""Power normalisation: division by a running quadratic mean."""

import keras
from keras import ops

from keras_transformer.ops import masks
from keras_transformer.ops.arguments import check_positive_numbers, is_integer
from keras_transformer.ops.precision import at_least_float32
from keras_transformer.ops.statistics import mean_over_replicas, real_and_count


@keras.saving.register_keras_serializable("keras_transformer")
class PowerNormalization(keras.layers.Layer):
    """Divides each unit by its quadratic mean over past batches, without subtracting a mean (Shen et al. 2020).

        forward    x' = x / sqrt(psi2 + epsilon),  y = gamma x' + beta
        backward   dL/dx = (dL/dx' - nu x') / sqrt(psi2 + epsilon),  with dL/dx' = gamma dL/dy
        then       psi2 <- a psi2 + (1 - a) mean(x^2)
                   nu   <- nu (1 - (1 - a) mean(x'^2)) + (1 - a) mean(x' dL/dx')

    Algorithm 2, with momentum a. The means are over the real steps of the batch, of all replicas of a `tf.distribute`
    strategy; psi2 and nu are the statistics of the steps before. The exact gradient would differentiate psi2; nu stands
    for what that adds. In the first `warmup_steps` training steps, as in the published code, mean(x^2) takes the place
    of psi2 in both directions: until psi2 has settled, nu could grow without bound.

    In inference, and if the layer or its weights are not trainable, psi2 is used and nothing changes.

    Axes: D width, statistics and weights have shape `[D]`.

    Args:
        epsilon: Added to the quadratic mean.
        momentum: Share a that the statistics keep at each training step.
        warmup_steps: Training steps normalised by the quadratic mean of their own batch.
        num_groups: Slices of the units, each of which is divided by its quadratic mean at each step first: the group
            scaling of the published code, there with a slice for each head. By default there is none. Divides D.

    Call arguments:
        inputs: Float `[B, T, D]`, or with other axes before the last.
        mask: Boolean `[B, T]`, True at real steps; defaults to the mask that `inputs` carries. The others are
            normalised, too, but do not count into the statistics, nor is nu x' subtracted from their gradient.
        training: Whether statistics are updated.

    Returns:
        Float of the shape of `inputs`, with their mask. Half precision is normalised in float32.

    Raises:
        ValueError: If a setting is out of range, D is unknown or not a multiple of `num_groups`, or the mask has the
            wrong shape.

    nu depends on the backward pass. It is a trainable weight whose "gradient" is its next value, which optimizers of
    Keras assign (`overwrite_with_gradient`, as for float8). Other optimizers and the `gradient_accumulation_steps` of
    Keras do not do that right, and a layer that is called twice in a training step would get the sum of two values.
    """

    def __init__(
        self,
        epsilon: float = 1e-6,
        momentum: float = 0.9,
        warmup_steps: int = 4000,
        num_groups: int | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_positive_numbers(epsilon=epsilon)
        if not 0 <= momentum < 1:
            raise ValueError(f"`momentum` must be at least 0 and less than 1. Received: momentum={momentum!r}.")
        if not is_integer(warmup_steps) or warmup_steps < 0:
            raise ValueError(f"`warmup_steps` must be an integer of at least 0. Received: {warmup_steps=!r}.")
        if num_groups is not None and (not is_integer(num_groups) or num_groups < 1):
            raise ValueError(f"`num_groups` must be a positive integer or None. Received: {num_groups=!r}.")
        self.epsilon = epsilon
        self.momentum = momentum
        self.warmup_steps = warmup_steps
        self.num_groups = num_groups
        self.supports_masking = True

    def build(self, inputs_shape):
        width = inputs_shape[-1]
        if width is None or width % (self.num_groups or 1):
            raise ValueError(
                f"`inputs` must have a known width divisible by num_groups={self.num_groups or 1}. "
                f"Received: inputs_shape={tuple(inputs_shape)}. Project the inputs first or change `num_groups`."
            )
        vector = {"shape": (width,), "autocast": False}
        self.gamma = self.add_weight(name="gamma", initializer="ones", **vector)
        self.beta = self.add_weight(name="beta", initializer="zeros", **vector)
        self.nu = self.add_weight(name="nu", initializer="zeros", aggregation="mean", **vector)
        self.nu.overwrite_with_gradient = True
        state = {"trainable": False, "aggregation": "mean"}  # It is the same on all replicas.
        self.moving_square = self.add_weight(name="moving_square", initializer="ones", **state, **vector)
        # Of the warm-up; a float, through which a layer that is computed again can be differentiated.
        self.steps = self.add_weight(name="steps", shape=(), initializer="zeros", autocast=False, **state)

    def call(self, inputs, mask=None, training=None):
        x = self._group_scaled(at_least_float32(inputs))
        square = ops.cast(self.moving_square, x.dtype)
        if training and self.nu.trainable:
            x = self._normalized_in_training(x, square, masks.attached_mask(inputs, mask))
        else:
            x = x * ops.rsqrt(square + self.epsilon)
        outputs = x * ops.cast(self.gamma, x.dtype) + ops.cast(self.beta, x.dtype)
        return ops.cast(outputs, self.compute_dtype)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        return {
            **super().get_config(),
            "epsilon": self.epsilon,
            "momentum": self.momentum,
            "warmup_steps": self.warmup_steps,
            "num_groups": self.num_groups,
        }

    def _group_scaled(self, x):
        if self.num_groups is None:
            return x
        groups = ops.reshape(x, (*ops.shape(x)[:-1], self.num_groups, x.shape[-1] // self.num_groups))
        groups = groups * ops.rsqrt(ops.mean(ops.square(groups), axis=-1, keepdims=True) + self.epsilon)
        return ops.reshape(groups, ops.shape(x))

    def _normalized_in_training(self, x, square, mask):
        """Normalises x by psi2 = `square` or, in the warm-up, by the batch; updates the statistics."""
        real, count = real_and_count(x, mask)
        of_batch = mean_over_replicas(ops.square(ops.stop_gradient(x)), real, count)
        scale = ops.rsqrt(ops.where(self.steps < self.warmup_steps, of_batch, square) + self.epsilon)
        rate = ops.cast(ops.where(count > 0, 1 - self.momentum, 0), x.dtype)  # Nothing changes if all is padding.
        outputs = _scaled(x, ops.cast(self.nu, x.dtype), scale, real, count, rate)
        self.moving_square.assign(square + rate * (of_batch - square))
        self.steps.assign(ops.minimum(self.steps + 1, float(self.warmup_steps)))
        return outputs


@ops.custom_gradient
def _scaled(x, nu, scale, real, count, rate):
    """Returns x times `scale`, with the gradient of the class above: by x that of nu, and by nu its next value."""
    outputs = x * scale

    def gradient(*args, upstream=None):
        upstream = args[0] if upstream is None else upstream
        slope, square = (mean_over_replicas(values * outputs, real, count) for values in (upstream, outputs))
        by_x = (upstream - real * nu * outputs) * scale
        constant = (ops.zeros_like(each) for each in (scale, real, count, rate))
        return by_x, nu + rate * (slope - nu * square), *constant

    return outputs, gradient
