"""Layer normalisation in few operations, and the use of any normalisation."""

import inspect
from typing import Any

import keras
from keras import ops

from keras_transformer.ops.precision import at_least_float32


@keras.saving.register_keras_serializable("keras_transformer")
class LayerNormalization(keras.layers.LayerNormalization):
    """`keras.layers.LayerNormalization` over the last axis, in half the operations.

        y = (x - mean(x)) / sqrt(var(x) + epsilon) * gamma + beta

    (Ba et al. 2016.) As in Keras, half precision is normalised in float32.

    Args:
        epsilon: Added to the variance.
    """

    def __init__(self, epsilon: float = 1e-6, **kwargs):
        super().__init__(epsilon=epsilon, **kwargs)

    def call(self, inputs):
        x = at_least_float32(inputs)
        centred = x - ops.mean(x, axis=-1, keepdims=True)
        variance = ops.mean(ops.square(centred), axis=-1, keepdims=True)
        scale = ops.rsqrt(variance + self.epsilon)
        outputs = centred * (scale * ops.cast(self.gamma, x.dtype)) + ops.cast(self.beta, x.dtype)
        return ops.cast(outputs, self.compute_dtype)

    def get_config(self):
        base = keras.layers.Layer.get_config(self)
        return {**base, "epsilon": self.epsilon}


def make_normalization(normalization_class: type, epsilon: float, dtype: Any) -> keras.layers.Layer:
    """Returns a normalisation with the name "norm" that lets masks pass."""
    layer = normalization_class(epsilon=epsilon, dtype=dtype, name="norm")
    layer.supports_masking = True  # `keras.layers.RMSNormalization` would warn that it takes masks off.
    return layer


def normalize(normalization: keras.layers.Layer, inputs: Any, mask: Any) -> Any:
    """Calls a normalisation, with the mask `[B, T]` or None if it takes one, as those with statistics of batches do."""
    takes_mask = "mask" in inspect.signature(normalization.call).parameters
    return normalization(inputs, mask=mask) if takes_mask else normalization(inputs)
