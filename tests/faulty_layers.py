"""Layers with one error each, which `verify` must find."""

import keras
from keras import ops

REGISTERED = keras.saving.register_keras_serializable("tests.verification")


class Part(keras.layers.Layer):
    """Base class of layers that keep the mask of their inputs."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True


@REGISTERED
class BatchMean(Part):
    def call(self, x):
        return x - ops.mean(x, axis=0, keepdims=True)


@REGISTERED
class RowNumber(Part):
    def call(self, x):
        return x * (1.0 + ops.cast(ops.arange(ops.shape(x)[0]), x.dtype)[:, None, None])


@REGISTERED
class AlwaysDrops(Part):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seed = keras.random.SeedGenerator(1)

    def call(self, x):
        return keras.random.dropout(x, 0.5, seed=self.seed)


@REGISTERED
class WithoutMask(keras.layers.Layer):
    def call(self, x):
        return x * 1.0

    def compute_mask(self, x, previous_mask=None):
        return None


@REGISTERED
class StraightThrough(Part):
    """Returns its inputs, with the gradient of the sum over all steps added."""

    def call(self, x):
        total = ops.sum(x, axis=1, keepdims=True)
        return x + total - ops.stop_gradient(total)


@REGISTERED
class Forgetful(Part):
    def __init__(self, factor=1.0, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor

    def call(self, x):
        return x * self.factor

    def get_config(self):
        config = super().get_config()
        config.pop("factor", None)
        return config


@REGISTERED
class ReducedSinusoids(Part):
    """Adds positions computed in the compute dtype, in which those above 256 are not exact."""

    def call(self, x):
        positions = ops.cast(ops.arange(ops.shape(x)[1]), x.dtype)[:, None]
        rates = ops.cast(10_000.0 ** -(ops.arange(0, x.shape[-1], 2) / x.shape[-1]), x.dtype)
        angles = positions * rates
        return x + ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=-1)


@REGISTERED
class Eagerly(Part):
    """Keeps the mask in eager calls only, like code that reads the values of a tensor."""

    def call(self, x):
        return x * 1.0

    def compute_mask(self, x, previous_mask=None):
        compiled = "Tracer" in type(x).__name__ if keras.backend.backend() == "jax" else not hasattr(x, "numpy")
        return None if compiled else previous_mask


@REGISTERED
class OfKnownLength(Part):
    """Has other outputs in a graph for any length."""

    def call(self, x):
        return x if x.shape[1] is None else x * 2


@REGISTERED
class Squared(Part):
    """Divides by a sum of squares that exceeds 65504."""

    def call(self, x):
        return x / ops.sqrt(ops.sum(ops.square(x * 1000), axis=-1, keepdims=True)) * 1000


@REGISTERED
class OneByOne(Part):
    """Raises for batches of one example, as code that squeezes."""

    def call(self, x):
        if x.shape[0] == 1:
            raise RuntimeError("squeezed away")
        return x * 1.0


@REGISTERED
class OfFloat32(Part):
    """Cannot be called in half precision, as code that mixes dtypes."""

    def call(self, x):
        if self.compute_dtype != "float32":
            raise TypeError("float32 is needed")
        return x * 1.0
