"""Checks that all layers must pass, and helpers that work on every backend."""

import json

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.ops import masks
from keras_transformer.ops.ancestry import visible_slots

tensorflow_only = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="SavedModel and tf.function belong to TensorFlow"
)
jax_only = pytest.mark.skipif(keras.backend.backend() != "jax", reason="reads the program as a jaxpr")


def array(*shape, seed=0, scale=1.0):
    return (scale * np.random.default_rng(seed).normal(size=shape)).astype("float32")


def lengths_mask(lengths, steps):
    """Returns a boolean mask `[B, T]`, True at the first `lengths[b]` steps."""
    return np.arange(steps) < np.array(lengths)[:, None]


def randomize(layer, seed=0, scale=0.3):
    """Assigns random values to all weights, so that no bias is 0 and no scale is 1; returns the layer.

    Scales stay around 1: with small ones a deep stack would forget its inputs, and any test of them would pass.
    """
    generator = np.random.default_rng(seed)
    for weight in layer.trainable_weights:
        weight.assign(generator.normal(size=weight.shape) * scale + (weight.name == "gamma"))
    return layer


def numpy(x):
    """Converts a tensor to NumPy, half precision to float32."""
    if "float" in keras.backend.standardize_dtype(x.dtype):
        x = ops.cast(x, "float32")
    return ops.convert_to_numpy(x)


def with_mask(x, mask):
    """Converts an array to a tensor that carries a mask, as from `Embedding(mask_zero=True)`."""
    return _Attach(name="attach")(x, ops.convert_to_tensor(mask))


def compiled(function):
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.function(function, autograph=False)
    if keras.backend.backend() == "torch":
        return function  # Keras runs torch as it is.
    import jax

    def stateless(*args):
        with keras.StatelessScope():  # For the seeds of dropout.
            return function(*args)

    return jax.jit(stateless)


def run(function, *arrays):
    """Calls a function of tensors, compiled where that is faster for one call."""
    if keras.backend.backend() == "jax":
        function = compiled(function)
    return function(*[ops.convert_to_tensor(x) for x in arrays])


def gradients(loss, arrays, layer=None):
    """Computes NumPy gradients of `loss(*arrays)` by the arrays and by the weights of the layer."""
    weights = [] if layer is None else layer.trainable_weights
    tensors = [ops.convert_to_tensor(x) for x in arrays]
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as tape:
            tape.watch(tensors)
            value = loss(*tensors)
        found = tape.gradient(value, [*tensors, *weights])
        found = [ops.zeros_like(x) if g is None else g for x, g in zip([*tensors, *weights], found)]
    elif keras.backend.backend() == "torch":
        import torch

        sources = [*(x.requires_grad_() for x in tensors), *(w.value for w in weights)]
        found = torch.autograd.grad(loss(*tensors), sources, allow_unused=True, materialize_grads=True)
    else:
        import jax

        def stateless(tensors, values):
            with keras.StatelessScope(state_mapping=list(zip(weights, values))):
                return loss(*tensors)

        found = jax.jit(jax.grad(stateless, argnums=(0, 1)))(tensors, [w.value for w in weights])
        found = [*found[0], *found[1]]
    return [numpy(g) for g in found]


def check_layer(make, *inputs, half_tolerance=0.1, **arguments):
    """Checks building, symbolic calls, serialisation, mixed precision and compilation.

    Args:
        make: Function of `dtype` and `name` that returns the layer.
        inputs: Arrays `[B, T, D]` to call it with; the output has the shape of the first.
        half_tolerance: How far half precision may be from float32.
        arguments: Further call arguments.
    """
    layer, expected = _check_build(make, inputs, arguments)
    _check_config(layer, inputs, arguments, expected)
    for policy in ("mixed_bfloat16", "mixed_float16"):
        _check_half_precision(make, policy, layer, inputs, arguments, expected, half_tolerance)


def check_saving(make, *inputs, folder, **arguments):
    """Checks `.keras` files, weights-only files and, on TensorFlow, SavedModel exports."""

    symbols = [keras.Input((None, x.shape[-1])) for x in inputs]
    model = keras.Model(symbols, make(dtype=None, name="checked")(*symbols, **arguments))
    assert tuple(model.output.shape) == (None, None, inputs[0].shape[-1])
    randomize(model)
    inputs = [ops.convert_to_tensor(x) for x in inputs]
    expected = numpy(model(inputs))

    again = reloaded(model, folder)
    np.testing.assert_array_equal(numpy(again(inputs)), expected)

    model.save_weights(folder / "model.weights.h5")
    randomize(again, seed=1)
    if model.weights:
        assert np.abs(numpy(again(inputs)) - expected).max() > 1e-3
    again.load_weights(folder / "model.weights.h5")
    np.testing.assert_array_equal(numpy(again(inputs)), expected)

    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        model.export(folder / "exported", verbose=False)
        exported = tf.saved_model.load(folder / "exported")
        served = exported.serve(inputs)
        np.testing.assert_allclose(served, expected, atol=1e-5)


def reloaded(model, folder):
    """Saves a model to a `.keras` file and loads it."""
    model.save(folder / "model.keras")
    return keras.models.load_model(folder / "model.keras")


def _check_build(make, inputs, arguments):
    layer, called = make(dtype=None, name="checked"), make(dtype=None, name="checked")
    layer.build(*[(None, None, x.shape[-1]) for x in inputs])
    built = [(w.path, w.shape) for w in layer.weights]
    randomize(layer)
    expected = numpy(layer(*inputs, **arguments))
    assert expected.shape == inputs[0].shape and np.isfinite(expected).all()
    called(*inputs, **arguments)
    assert [(w.path, w.shape) for w in layer.weights] == built, "the call made weights that `build` did not"
    assert [(w.path, w.shape) for w in called.weights] == built, "called and built layers differ"
    assert len(dict(built)) == len(built)
    return layer, expected


def _check_config(layer, inputs, arguments, expected):
    config = layer.get_config()
    json.dumps(config)
    copy = type(layer).from_config(config)
    assert copy.get_config() == config
    copy.build(*[x.shape for x in inputs])
    copy.set_weights(layer.get_weights())
    outputs = compiled(lambda *x: copy(*x, **arguments))(*[ops.convert_to_tensor(x) for x in inputs])
    np.testing.assert_allclose(numpy(outputs), expected, atol=1e-5)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    assert type(again) is type(layer) and again.get_config() == config


def _check_half_precision(make, policy, layer, inputs, arguments, expected, tolerance):
    half = make(dtype=policy, name="half")
    half.build(*[x.shape for x in inputs])
    half.set_weights(layer.get_weights())
    outputs = run(lambda *x: half(*x, **arguments), *inputs)
    assert keras.backend.standardize_dtype(outputs.dtype) == half.compute_dtype == policy.removeprefix("mixed_")
    assert all(w.dtype == "float32" for w in half.trainable_weights)
    for sublayer in half._flatten_layers():
        assert sublayer.dtype_policy.name == policy
    np.testing.assert_allclose(numpy(outputs), expected, atol=tolerance)
    if keras.backend.backend() == "jax":
        return  # Compiling the gradients of every layer would take a minute.
    found = gradients(lambda *x: ops.sum(ops.cast(half(*x, **arguments), "float32") ** 2), inputs, half)
    assert all(np.isfinite(g).all() for g in found)
    assert all(np.any(g) for g in found[: len(inputs)])


class _Attach(keras.layers.Layer):
    """Passes `mask` through `compute_mask`, the only public way to attach it."""

    def call(self, inputs, mask):
        self.mask = mask
        return inputs

    def compute_mask(self, inputs, previous_mask=None):
        return self.mask


@keras.saving.register_keras_serializable("tests")
class MaskProbe(keras.layers.Layer):
    """Returns the mask that `inputs` carries once `after` is there, as floats; -1 where there is none."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs, after, inputs_mask=None, after_mask=None):
        first = ops.cast(inputs[..., 0], "float32")
        return ops.zeros_like(first) - 1.0 if inputs_mask is None else ops.cast(inputs_mask, "float32")

    def compute_mask(self, inputs, previous_mask=None):
        return None


def mask_of(x):
    """Returns the mask that a tensor carries, as NumPy, or None."""
    mask = masks.attached_mask(x)
    return None if mask is None else ops.convert_to_numpy(mask)


def mask_of_beams(batch, length, beams):
    """Returns the cache mask of beams that never change their order; None for one beam."""
    if beams == 1:
        return None
    ancestors = ops.tile(ops.arange(beams, dtype="int32")[:, None], (batch, length))
    return visible_slots(ancestors, beams)
