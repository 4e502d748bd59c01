"""Tests of packing: real steps in order, unpacking, and gradients without padding."""

import keras
import layer_checks as checks
import numpy as np
import pytest
from keras import ops

from keras_transformer import Decoder, Encoder
from keras_transformer.ops.packing import Packing

B, T, S, D = 4, 6, 5, 8
MASK = checks.lengths_mask([6, 0, 3, 1], T)
MASK[2, 0] = False  # Padding on the left is padding too.
MEMORY_MASK = checks.lengths_mask([2, 5, 0, 4], S)

tensorflow_only = pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="shapes known at run time only")


@tensorflow_only
@pytest.mark.parametrize("mask", [MASK, np.ones_like(MASK), np.zeros_like(MASK)])
def test_packs_real_steps_in_order_and_unpacks_them(mask):
    x, packing = checks.array(B, T, D), Packing(ops.convert_to_tensor(mask))
    packed = packing.pack(ops.convert_to_tensor(x))
    np.testing.assert_array_equal(checks.numpy(packed), x[mask][None])
    np.testing.assert_array_equal(checks.numpy(packing.unpack(packed)), np.where(mask[..., None], x, 0.0))


@tensorflow_only
def test_gradients_are_transposes():
    """<pack x, y> = <x, pack' y>: the gradient of a linear function is its transpose."""
    x, packing = checks.array(B, T, D), Packing(ops.convert_to_tensor(MASK))
    y, z = checks.array(1, int(MASK.sum()), D, seed=1), checks.array(B, T, D, seed=2)
    (of_pack,) = checks.gradients(lambda x: ops.sum(packing.pack(x) * y), [x])
    expected = np.zeros_like(x)
    expected[MASK] = y[0]
    np.testing.assert_array_equal(of_pack, expected)
    (of_unpack,) = checks.gradients(lambda y: ops.sum(packing.unpack(y) * z), [y])
    np.testing.assert_array_equal(of_unpack, z[MASK][None])


def stacks(normalize_first, **arguments):
    encoder = Encoder(2, num_heads=2, intermediate_dim=11, normalize_first=normalize_first, **arguments)
    decoder = Decoder(2, num_heads=2, intermediate_dim=11, normalize_first=normalize_first, **arguments)
    encoder.build((None, None, D))
    decoder.build((None, None, D), memory_shape=(None, None, D))
    return checks.randomize(encoder), checks.randomize(decoder, seed=1)


@tensorflow_only
@pytest.mark.parametrize("normalize_first", [False, True])
def test_skip_padding_gives_the_same_outputs_and_gradients(normalize_first):
    expected, skipped = results(normalize_first, False), results(normalize_first, True)
    assert not skipped[0][~MASK].any() and expected[0][~MASK].any()
    expected[0], skipped[0] = expected[0][MASK], skipped[0][MASK]
    for before, after in zip(expected, skipped):
        np.testing.assert_allclose(after, before, atol=2e-5 * max(1.0, np.abs(before).max()))
    assert len(expected) > 40


def results(normalize_first, skip_padding):
    """Returns the outputs of a decoder over an encoder, and the gradients of inputs and weights."""
    encoder, decoder = stacks(normalize_first, skip_padding=skip_padding)

    def run(x, memory):
        encoded = encoder(memory, mask=ops.convert_to_tensor(MEMORY_MASK))
        return decoder(x, encoded, inputs_mask=ops.convert_to_tensor(MASK), memory_mask=MEMORY_MASK)

    def loss(x, memory):
        return ops.sum(ops.where(MASK[..., None], run(x, memory), 0.0) ** 2)

    inputs = checks.array(B, T, D), checks.array(B, S, D, seed=1)
    outputs = checks.numpy(checks.compiled(run)(*map(ops.convert_to_tensor, inputs)))
    both = keras.Sequential([encoder, decoder])  # Only to hold the weights of both.
    return [outputs, *checks.gradients(loss, list(inputs), both)]


@tensorflow_only
def test_blocks_compute_no_padding():
    """The first dense layer of the feed-forward layer gets one row per real step."""
    encoder, _ = stacks(False, skip_padding=True)
    rows, dense = [], encoder.blocks[0].feed_forward.inner_dense
    call, dense.call = dense.call, lambda x, **kwargs: (rows.append(x.shape), call(x, **kwargs))[1]
    encoder(ops.convert_to_tensor(checks.array(B, T, D)), mask=ops.convert_to_tensor(MASK))
    assert rows == [(1, MASK.sum(), D)]


@pytest.mark.skipif(keras.backend.backend() == "tensorflow", reason="possible on TensorFlow")
def test_other_backends_raise():
    with pytest.raises(ValueError, match="`skip_padding` needs shapes .* Received: skip_padding=True on"):
        Encoder(1, 2, 11, skip_padding=True)


@tensorflow_only
@pytest.mark.parametrize("jit_compile", [True, "auto"])
def test_models_that_skip_padding_train_without_xla(jit_compile, monkeypatch, recwarn):
    """Keras enables XLA by itself on a GPU; it warns if `jit_compile` is set."""
    import tensorflow as tf

    devices = [*tf.config.list_physical_devices(), tf.config.PhysicalDevice("/physical_device:GPU:0", "GPU")]
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind=None: devices)
    results = []
    for skip_padding in (False, True):
        inputs = keras.Input((None, D))
        layer = Encoder(1, 2, 11, dropout=0.1, skip_padding=skip_padding)
        model = keras.Model(inputs, layer(keras.layers.Masking()(inputs)))
        recwarn.clear()
        model.compile("sgd", "mse", jit_compile=jit_compile)
        results.append((model.jit_compile, [str(warning.message) for warning in recwarn]))
    assert results[0] == (True, []) and results[1][0] is False
    assert len(results[1][1]) == (jit_compile is True) and all("jit_compile=True" in text for text in results[1][1])
    x = checks.array(B, T, D) * MASK[..., None]
    assert np.isfinite(model.fit(x, x, verbose=0).history["loss"]).all()
