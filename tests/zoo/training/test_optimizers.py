"""Tests of the optimizer against Kingma and Ba (2015), section 2, in NumPy, with the rates of Vaswani et al. (2017)."""

import types

import keras
import numpy as np
import pytest
import tensorflow as tf
from strategies import REPLICAS, mirrored

from zoo.config import TrainingConfig
from zoo.training.optimizers import averaged_weights, make_optimizer

UPDATES = 50
# Columns of gradients of other sizes: epsilon shows where they are small, the betas where they change.
SCALES = np.array([1e-8, 1e-6, 1e-3, 1.0])


def rate(update, config, hidden_dim):
    """Computes the learning rate of an update, counted from 1: eq. 3 of Vaswani et al., and a linear cool-down."""
    peak = config.peak_learning_rate or (hidden_dim * config.warmup_steps) ** -0.5
    left = config.steps + 1 - update
    cooling = min(1, left / config.cooldown_steps) if config.cooldown_steps else 1
    return peak * min(update / config.warmup_steps, (config.warmup_steps / update) ** 0.5) * cooling


def adam(gradients, rates, beta_1=0.9, beta_2=0.98, epsilon=1e-9):
    """Yields the sum of all changes after each update, in the order of operations at the end of section 2."""
    change, m, v = (np.zeros(gradients.shape[1:]) for _ in range(3))
    for t, (gradient, alpha) in enumerate(zip(gradients, rates), start=1):
        m = beta_1 * m + (1 - beta_1) * gradient
        v = beta_2 * v + (1 - beta_2) * gradient**2
        change -= alpha * np.sqrt(1 - beta_2**t) / (1 - beta_1**t) * m / (np.sqrt(v) + epsilon)
        yield change.copy()


@pytest.mark.parametrize("accumulation", [1, 3])
@pytest.mark.parametrize("replicas", [1, REPLICAS])
@pytest.mark.parametrize("peak", [0.0, 0.02])
def test_a_run_of_adam_equals_the_equations(accumulation, replicas, peak):
    """Each update gets the mean over micro-batches of the sum over replicas."""
    config = TrainingConfig(steps=UPDATES, warmup_steps=10, cooldown_steps=15, peak_learning_rate=peak)
    random = np.random.default_rng(1)
    gradients = (random.normal(size=(UPDATES, accumulation, replicas, 3, 4)) * SCALES).astype("float32")
    model = types.SimpleNamespace(config=types.SimpleNamespace(hidden_dim=64))
    strategy = mirrored() if replicas > 1 else tf.distribute.get_strategy()
    with strategy.scope():
        variable = keras.Variable(np.zeros((3, 4), "float32"))
        optimizer = make_optimizer(config, model, accumulation)
        optimizer.build([variable])

    @tf.function
    def apply(gradient):
        def replica():
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            optimizer.apply([gradient[number]], [variable])

        strategy.run(replica)

    expected = adam(
        gradients.astype("float64").sum(axis=2).mean(axis=1), [rate(t, config, 64) for t in range(1, UPDATES + 1)]
    )
    for update, after in zip(gradients, expected):
        for gradient in update:
            apply(tf.constant(gradient))
        np.testing.assert_allclose(keras.ops.convert_to_numpy(variable), after, rtol=2e-4, atol=1e-7)


@pytest.mark.parametrize("accumulation", [1, 3])
@pytest.mark.parametrize("replicas", [1, REPLICAS])
def test_weights_decay_at_updates(accumulation, replicas):
    """w_t = w_(t-1) - rate_t (decay w_(t-1) + Adam's change): Loshchilov and Hutter (2019), algorithm 2, line 12."""
    config = TrainingConfig(steps=20, warmup_steps=5, peak_learning_rate=0.05, weight_decay=0.3, layer_decay=0.5)
    random = np.random.default_rng(3)
    shapes = {"kernel": (3, 4), "embeddings": (5, 4), "bias": (4,), "gamma": (4,), "attention_bias": (2, 4)}
    start = {name: random.normal(size=shape) for name, shape in shapes.items()}
    strategy = mirrored() if replicas > 1 else tf.distribute.get_strategy()
    with strategy.scope():
        variables = [keras.Variable(value, dtype="float32", name=name) for name, value in start.items()]
        encoder = types.SimpleNamespace(layers_bottom_up=lambda: [[types.SimpleNamespace(variables=variables[:1])]])
        model = types.SimpleNamespace(text_encoder=encoder, trainable_variables=variables)
        optimizer = make_optimizer(config, model, accumulation)
        optimizer.build(variables)
    gradients = {
        name: random.normal(size=(20, accumulation, replicas, *shape)).astype("float32")
        for name, shape in shapes.items()
    }

    @tf.function
    def apply(*micro_batch):
        def replica():
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            optimizer.apply([gradient[number] for gradient in micro_batch], variables)

        strategy.run(replica)

    for update in range(20):
        for i in range(accumulation):
            apply(*(tf.constant(values[update, i]) for values in gradients.values()))
    for variable, (name, values) in zip(variables, gradients.items()):
        rates = [rate(t, config, 64) * (0.5 if name == "kernel" else 1) for t in range(1, 21)]
        expected, before = start[name], 0
        for alpha, change in zip(rates, adam(values.astype("float64").sum(axis=2).mean(axis=1), rates)):
            expected = expected - alpha * 0.3 * expected * (name in ("kernel", "embeddings")) + change - before
            before = change
        np.testing.assert_allclose(keras.ops.convert_to_numpy(variable), expected, rtol=1e-3, atol=1e-5)


def test_rates_fall_from_layer_to_layer():
    """The first update of Adam is the learning rate, whatever the gradient."""
    config = TrainingConfig(warmup_steps=10, peak_learning_rate=0.02, layer_decay=0.5)
    bottom, block, head = variables = [keras.Variable(np.zeros(3, "float32")) for _ in range(3)]
    levels = [[types.SimpleNamespace(variables=[variable])] for variable in (bottom, block)]
    encoder = types.SimpleNamespace(layers_bottom_up=lambda: levels)
    optimizer = make_optimizer(config, types.SimpleNamespace(text_encoder=encoder, trainable_variables=variables))
    optimizer.build(variables)
    optimizer.apply([tf.fill([3], 0.1), tf.fill([3], 0.1), tf.fill([3], 0.1)])
    for variable, factor in ((bottom, 0.25), (block, 0.5), (head, 1.0)):
        np.testing.assert_allclose(keras.ops.convert_to_numpy(variable), -0.002 * factor, rtol=1e-5)


@pytest.mark.parametrize("accumulation", [1, 3])
@pytest.mark.parametrize("replicas", [1, REPLICAS])
def test_moving_averages_count_updates(accumulation, replicas):
    """e_1 = w_1, e_t = m e_(t-1) + (1 - m) w_t, for any number of micro-batches and replicas."""
    config = TrainingConfig(steps=10, warmup_steps=1, peak_learning_rate=0.1, ema=0.8)
    gradients = np.random.default_rng(2).normal(size=(10, accumulation, replicas, 3)).astype("float32")
    strategy = mirrored() if replicas > 1 else tf.distribute.get_strategy()
    with strategy.scope():
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, use_bias=False)])
        model.compile(make_optimizer(config, model, accumulation))
        variable, optimizer = model.trainable_variables[0], model.optimizer
        optimizer.build([variable])

    @tf.function
    def apply(gradient):
        def replica():
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            optimizer.apply([gradient[number][:, None]], [variable])

        strategy.run(replica)

    expected = None
    for update in gradients:
        for gradient in update:
            apply(tf.constant(gradient))
        weights = np.asarray(variable)
        expected = weights if expected is None else 0.8 * expected + 0.2 * weights
        with averaged_weights(model):
            np.testing.assert_allclose(np.asarray(variable), expected, rtol=1e-5)
        np.testing.assert_array_equal(np.asarray(variable), weights)
