"""Tests of rematerialisation: outputs, gradients and random numbers do not change."""

import keras
import layer_checks as checks
import numpy as np
import pytest
from keras import ops

from keras_transformer import Decoder, Encoder, FeedForward

B, T, S, N, D, M, F = 3, 5, 7, 2, 14, 6, 11
X, MEMORY = checks.array(B, T, D), checks.array(B, S, M, seed=1)
MASK, MEMORY_MASK = checks.lengths_mask((5, 2, 4), T), checks.lengths_mask((7, 1, 3), S)
DROPOUT = {"dropout": 0.3, "attention_dropout": 0.2, "activation_dropout": 0.1}


def make(stack, remat, num_layers=1, **kwargs):
    keras.utils.set_random_seed(7)
    layer = stack(num_layers, N, F, remat=remat, **DROPOUT, **kwargs)
    layer.build(*((B, T, D),) if stack is Encoder else ((B, T, D), (B, S, M)))
    return checks.randomize(layer)


def learn(stack, remat, **kwargs):
    """Returns gradients of inputs and weights in two successive steps, and the final states of the generators."""
    layer, found = make(stack, remat, **kwargs), []
    arrays, masks = [X], {"inputs_mask": MASK}
    if stack is Decoder:
        arrays, masks = [X, MEMORY], {**masks, "memory_mask": MEMORY_MASK}

    def loss(*x):
        return ops.sum(ops.cast(layer(*x, **masks, training=True), "float32") ** 2)

    for _ in range(2 if keras.backend.backend() == "tensorflow" else 1):  # Stateless, a second step is the first.
        found += checks.gradients(loss, arrays, layer)
    return found + [ops.convert_to_numpy(seed) for seed in layer.non_trainable_variables]


@pytest.mark.parametrize(("stack", "normalize_first"), [(Encoder, True), (Decoder, False)])
def test_gradients_and_random_numbers_do_not_change(stack, normalize_first):
    plain, again = (learn(stack, remat, normalize_first=normalize_first) for remat in (False, True))
    assert len(plain) == len(again)
    for one, other in zip(plain, again):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-4)


def test_half_precision_does_not_change():
    plain, again = (learn(Encoder, remat, dtype="mixed_bfloat16") for remat in (False, True))
    largest = max(np.abs(one).max() for one in plain[: len(plain) // 2])
    for one, other in zip(plain, again):
        np.testing.assert_allclose(other, one, rtol=0.1, atol=0.01 * largest)


@checks.tensorflow_only
def test_blocks_are_computed_again_in_training_only(monkeypatch):
    calls, call = [], FeedForward.call
    monkeypatch.setattr(FeedForward, "call", lambda self, inputs: calls.append(1) or call(self, inputs))
    for remat, expected in ((False, 2), (True, 4)):
        layer = make(Encoder, remat, num_layers=2)
        calls.clear()
        checks.gradients(lambda x, layer=layer: ops.sum(layer(x, training=True)), [X])
        assert len(calls) == expected
        calls.clear()
        checks.gradients(lambda x, layer=layer: ops.sum(layer(x)), [X])
        layer(X[:, :1], cache=layer.init_cache(B, T), cache_index=0, training=True)
        assert len(calls) == 4


def test_fit_gives_the_same_weights():
    """The encoder is called twice in a step, so its generators have advanced when the first call is computed again."""

    def weights(remat):
        keras.utils.set_random_seed(3)
        inputs = keras.Input((T, D))
        encoder = Encoder(1, N, F, remat=remat, **DROPOUT)
        model = keras.Model(inputs, keras.layers.Dense(1)(encoder(encoder(inputs))))
        model.compile(keras.optimizers.SGD(0.1), "mse")
        model.fit(X, X[..., :1], batch_size=3, epochs=3, verbose=0)
        assert model.get_layer(encoder.name).get_config()["remat"] is remat
        return model.get_weights()

    for one, other in zip(weights(False), weights(True)):
        np.testing.assert_allclose(other, one, atol=1e-5)


@pytest.mark.parametrize("stack", [Encoder, Decoder])
def test_decoding_is_unaffected(stack):
    def steps(remat):
        layer = make(stack, remat, num_layers=2)
        cache = layer.init_cache(B, T) if stack is Encoder else layer.init_cache(ops.convert_to_tensor(MEMORY), T)
        outputs, _ = layer(X[:, :2], cache=cache, cache_index=0)
        return checks.numpy(outputs)

    np.testing.assert_array_equal(steps(True), steps(False))
    assert make(stack, True).get_config()["remat"] is True


@checks.tensorflow_only
def test_packed_inputs():
    plain, again = (learn(Encoder, remat, skip_padding=True) for remat in (False, True))
    for one, other in zip(plain, again):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-4)
