"""Tests of power normalisation: the algorithm in NumPy, masks, stacks, training on every backend."""

import keras
import layer_checks as checks
import numpy as np
import pytest
import reference as ref
from keras import ops

from keras_transformer import Decoder, DecoderBlock, Encoder, EncoderBlock, PowerNormalization, Residual

B, T, N, D, F, S = 3, 5, 2, 14, 11, 7
MASK = checks.lengths_mask((5, 2, 3), T)


def batch(step):
    """Inputs with a mean and a different size for each unit and step, and an upstream gradient, zero at padding."""
    x = checks.array(B, T, D, seed=step) * np.linspace(0.5, 3, D) * (1 + step / 10) + 0.3
    return x.astype("float32"), checks.array(B, T, D, seed=100 + step) * MASK[..., None]


def ready(dtype="float32", **kwargs):
    layer = PowerNormalization(dtype=dtype, **kwargs)
    layer.build((None, None, D))
    layer.gamma.assign(checks.array(D, seed=1) / 3 + 1)
    layer.beta.assign(checks.array(D, seed=2))
    return layer


def train_step(layer, x, upstream, mask=None):
    """Runs a training step with an optimizer that changes nu only; returns outputs and gradients by x and weights."""
    state = [(variable, ops.copy(variable.value)) for variable in layer.non_trainable_variables]

    def loss(x):
        return ops.sum(ops.cast(layer(x, mask=mask, training=True), "float32") * ops.convert_to_tensor(upstream))

    gradient, *by_weights = checks.gradients(loss, [x], layer)
    for variable, value in state:  # On JAX gradients are stateless, elsewhere they have changed the statistics.
        variable.assign(value)
    outputs = checks.numpy(layer(x, mask=mask, training=True))
    for variable, value in zip(layer.trainable_variables, by_weights, strict=True):
        if variable.overwrite_with_gradient:
            variable.assign(value)
    return outputs, gradient, {v.name: value for v, value in zip(layer.trainable_variables, by_weights)}


@pytest.mark.parametrize("mask", [None, MASK])
@pytest.mark.parametrize("warmup_steps", [0, 2])
def test_steps_equal_numpy(warmup_steps, mask):
    layer = ready(epsilon=1e-3, momentum=0.7, warmup_steps=warmup_steps)
    weights = {name: np.array(checks.numpy(getattr(layer, name)), "float64") for name in ("gamma", "beta")}
    state = {"moving_square": np.ones(D), "nu": np.zeros(D)}
    real = np.ones(B * T, bool) if mask is None else mask.reshape(-1)
    for step in range(4):
        x, upstream = batch(step)
        found, gradient, by_weights = train_step(layer, x, upstream, mask)
        flat, flat_upstream = (each.reshape(-1, D).astype("float64") for each in (x, upstream))
        expected = ref.power_norm(flat, flat_upstream, real, weights, state, 0.7, step < warmup_steps, 1e-3)
        outputs, of_inputs, state = expected
        np.testing.assert_allclose(found.reshape(-1, D), outputs, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(gradient.reshape(-1, D), of_inputs, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(by_weights["beta"], flat_upstream.sum(0), rtol=1e-4, atol=1e-4)
        normalized = (outputs - weights["beta"]) / weights["gamma"]
        np.testing.assert_allclose(by_weights["gamma"], (flat_upstream * normalized).sum(0), rtol=1e-4, atol=1e-3)
        for name, values in state.items():
            np.testing.assert_allclose(checks.numpy(getattr(layer, name)), values, rtol=1e-4, atol=1e-5, err_msg=name)
    assert np.abs(state["nu"]).max() > 0.05, "nu would not matter"
    x = batch(9)[0]
    expected = x / np.sqrt(state["moving_square"] + 1e-3) * weights["gamma"] + weights["beta"]
    np.testing.assert_allclose(checks.numpy(layer(x)), expected, rtol=1e-4, atol=1e-4)


def test_group_scaling_comes_first():
    layer = ready(num_groups=2, epsilon=1e-3)
    x = batch(1)[0]
    groups = x.reshape(B, T, 2, D // 2).astype("float64")
    scaled = (groups / np.sqrt((groups**2).mean(-1, keepdims=True) + 1e-3)).reshape(x.shape)
    expected = scaled / np.sqrt(1 + 1e-3) * checks.numpy(layer.gamma) + checks.numpy(layer.beta)
    np.testing.assert_allclose(checks.numpy(layer(x)), expected, rtol=1e-4, atol=1e-4)
    layer(x, training=True)
    expected = 0.9 + 0.1 * (scaled**2).mean((0, 1))
    np.testing.assert_allclose(checks.numpy(layer.moving_square), expected, rtol=1e-4)


@keras.saving.register_keras_serializable("tests")
def product_loss(y, outputs):
    """Has y, divided by the number of real steps, as its gradient."""
    return ops.sum(y * ops.cast(outputs, "float32"), axis=-1)


@pytest.mark.parametrize("dtype", ["float32", pytest.param("mixed_float16", marks=checks.tensorflow_only)])
def test_fit_updates_the_statistics(dtype, tmp_path):
    """Under loss scaling, nu is of the scaled gradients, as the gradients are that it is subtracted from."""
    scale = 8.0 if dtype == "mixed_float16" else 1.0
    model = keras.Sequential([keras.Input((T, D)), keras.layers.Masking(0.0), ready(dtype, warmup_steps=2)])
    optimizer = keras.optimizers.SGD(0.0, clipnorm=1e-3)  # Neither acts on statistics.
    if scale > 1:
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=scale)
    model.compile(optimizer, product_loss)
    rows = [batch(step) for step in range(4)]
    x, upstream = (np.concatenate(arrays) for arrays in zip(*rows))
    x[~np.tile(MASK, (4, 1))] = 0
    model.fit(x, upstream, batch_size=B, shuffle=False, verbose=0)
    layer = model.layers[-1]
    weights = {name: np.array(checks.numpy(getattr(layer, name)), "float64") for name in ("gamma", "beta")}
    state, real = {"moving_square": np.ones(D), "nu": np.zeros(D)}, MASK.reshape(-1)
    for step in range(4):
        flat, slope = (each.reshape(-1, D).astype("float64") for each in rows[step])
        *_, state = ref.power_norm(flat, scale * slope / real.sum(), real, weights, state, 0.9, step < 2)
    tolerance = 2e-2 if scale > 1 else 1e-4
    for name, values in state.items():
        np.testing.assert_allclose(checks.numpy(getattr(layer, name)), values, rtol=tolerance, atol=tolerance / 10)
    again = checks.reloaded(model, tmp_path)
    for variable, other in zip(model.variables, again.variables):
        np.testing.assert_array_equal(checks.numpy(other), checks.numpy(variable))


class Power(PowerNormalization):
    def __init__(self, epsilon=1e-6, warmup_steps=1, **kwargs):
        super().__init__(epsilon, warmup_steps=warmup_steps, **kwargs)


class PowerResidual(Residual):
    normalization_class = Power


class PowerEncoderBlock(EncoderBlock):
    residual_class = PowerResidual


class PowerEncoder(Encoder):
    block_class = PowerEncoderBlock


class PowerDecoderBlock(DecoderBlock):
    residual_class = PowerResidual


class PowerDecoder(Decoder):
    block_class = PowerDecoderBlock


def stack(kind, **kwargs):
    """Returns a built stack with random statistics."""
    layer = kind(1, N, F, **kwargs)
    layer.build(*[(B, T, D)] * (1 if kind is PowerEncoder else 2))
    checks.randomize(layer)
    for number, variable in enumerate(layer.non_trainable_variables):
        if variable.name == "moving_square":
            variable.assign(checks.array(D, seed=number) ** 2 + 0.5)
    return layer


def statistics(layer):
    return {v.path: np.array(checks.numpy(v)) for v in layer.non_trainable_variables if "seed" not in v.name}


@pytest.mark.parametrize(("kind", "normalize_first"), [(PowerEncoder, True), (PowerDecoder, False)])
def test_padding_does_not_count_in_stacks(kind, normalize_first):
    """With masks as arguments, which is all that there is inside of `jax.jit`."""
    found, more = [], () if kind is PowerEncoder else (checks.array(B, S, D),)
    for spoil in (0, 50):
        layer = stack(kind, normalize_first=normalize_first)
        x = np.where(MASK[..., None], checks.array(B, T, D), spoil).astype("float32")
        outputs = [checks.numpy(layer(x, *more, inputs_mask=MASK, training=True))[MASK] for _ in range(2)]
        found.append([*outputs, *statistics(layer).values()])
    assert len(found[0]) == 2 + 2 * 3, "two outputs; for each of three normalisations two statistics"
    for one, other in zip(*found):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    attached = stack(kind, normalize_first=normalize_first)
    for _ in range(2):
        attached(checks.with_mask(checks.array(B, T, D), MASK), *more, training=True)
    for one, other in zip(statistics(attached).values(), found[0][2:]):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


@checks.tensorflow_only
def test_skipping_padding_gives_the_same_statistics():
    plain, packed = (stack(PowerEncoder, normalize_first=True, skip_padding=skip) for skip in (False, True))
    for layer in (plain, packed):
        layer(checks.array(B, T, D), inputs_mask=ops.convert_to_tensor(MASK), training=True)
    for one, other in zip(statistics(plain).values(), statistics(packed).values()):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_rematerialisation_gives_the_same_gradients_and_statistics():
    found = []
    for remat in (False, True):
        layer = stack(PowerEncoder, remat=remat)
        x = ops.convert_to_tensor(checks.array(B, T, D))
        found.append(checks.gradients(lambda x, layer=layer: ops.sum(layer(x, training=True) ** 3), [x], layer))
        if keras.backend.backend() == "jax":
            layer(x, training=True)
        found[-1] += statistics(layer).values()
    assert (found[0][-1] == 1).all(), "the counter of steps"
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)


def test_cached_steps_equal_the_whole():
    decoder = stack(PowerDecoder, normalize_first=True)
    x, memory = checks.array(B, T, D), checks.array(B, S, D)
    memory_mask = ops.convert_to_tensor(checks.lengths_mask((7, 1, 3), S))
    before = statistics(decoder)
    whole = checks.numpy(decoder(x, memory, memory_mask=memory_mask))
    cache, steps = decoder.init_cache(memory, T), []
    for t in range(T):
        outputs, cache = decoder(x[:, t : t + 1], memory_mask=memory_mask, cache=cache, cache_index=t)
        steps.append(checks.numpy(outputs))
    np.testing.assert_allclose(np.concatenate(steps, axis=1), whole, atol=1e-4)
    for name, values in statistics(decoder).items():
        np.testing.assert_array_equal(values, before[name])


@pytest.mark.parametrize("case", ["inference", "frozen", "frozen weights", "padding"])
def test_statistics_do_not_change(case):
    layer, x = ready(warmup_steps=0), batch(0)[0]
    layer.trainable = case != "frozen"
    for variable in layer.variables if case == "frozen weights" else ():  # As `enable_lora` does it.
        variable.trainable = False
    mask = np.zeros((B, T), bool) if case == "padding" else None
    expected = checks.numpy(layer(x))
    np.testing.assert_allclose(checks.numpy(layer(x, mask=mask, training=case != "inference")), expected, atol=1e-5)
    assert (checks.numpy(layer.moving_square) == 1).all()


def test_layer_rules(tmp_path):
    checks.check_layer(PowerNormalization, batch(0)[0])
    checks.check_saving(PowerNormalization, batch(0)[0], folder=tmp_path)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"momentum": 1.0}, "`momentum` must be at least 0 and less than 1. Received: momentum=1.0"),
        ({"warmup_steps": -1}, "`warmup_steps` must be an integer of at least 0. Received: warmup_steps=-1"),
        ({"num_groups": 0}, "`num_groups` must be a positive integer or None. Received: num_groups=0"),
        ({"num_groups": True}, "`num_groups` must be a positive integer or None. Received: num_groups=True"),
        ({"warmup_steps": True}, "`warmup_steps` must be an integer of at least 0. Received: warmup_steps=True"),
        ({"epsilon": -1}, "`epsilon` must be a positive number. Received: epsilon=-1"),
        ({"num_groups": 3}, "`inputs` must have a known width divisible by num_groups=3. Received: inputs_shape="),
    ],
)
def test_wrong_settings_raise(setting, message):
    with pytest.raises(ValueError, match=message):
        PowerNormalization(**setting).build((None, None, D))


def test_a_mask_of_another_length_raises():
    with pytest.raises(ValueError, match=r"`mask` must have shape \[3, 5\]. Received: shape=\(3, 4\)"):
        ready()(batch(0)[0], mask=MASK[:, :4], training=True)
