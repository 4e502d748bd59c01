"""Tests of positional encodings: far positions, half precision, any start index."""

import keras
import layer_checks as checks
import numpy as np
import pytest
import reference as ref
from keras import ops

from keras_transformer import LearnedPositionalEncoding, PositionalEncoding

B, T, D, LONGEST = 3, 5, 22, 13
X = checks.array(B, T, D)


def learned(**kwargs):
    layer = LearnedPositionalEncoding(LONGEST, **kwargs)
    layer.build((B, T, D))
    return checks.randomize(layer)


def test_equals_float64_up_to_position_10000():
    outputs = checks.numpy(PositionalEncoding()(np.zeros((1, 10_001, D), "float32")))
    assert np.abs(outputs[0] - ref.sinusoids(np.arange(10_001), D)).max() < 5e-6


def test_adds_to_the_inputs():
    expected = X + ref.sinusoids(np.arange(T), D)
    np.testing.assert_allclose(checks.numpy(PositionalEncoding()(X)), expected, atol=1e-6)


@pytest.mark.parametrize("dtype, bits", [("bfloat16", 8), ("mixed_bfloat16", 8), ("mixed_float16", 11)])
def test_half_precision_rounds_only_the_sum(dtype, bits):
    layer = PositionalEncoding(dtype=dtype)
    x = ops.cast(checks.array(1, 301, D), layer.compute_dtype)
    outputs = layer(x, start_index=9_700)
    assert keras.backend.standardize_dtype(outputs.dtype) == layer.compute_dtype
    exact = checks.numpy(x) + ref.sinusoids(np.arange(9_700, 10_001), D)
    half_unit = 2.0 ** (np.frexp(exact)[1] - bits - 1)
    assert (np.abs(checks.numpy(outputs) - exact) <= half_unit + 5e-6).all()


@pytest.mark.parametrize("layer", [PositionalEncoding(), learned()], ids=["sinusoidal", "learned"])
@pytest.mark.parametrize("start", [0, 1, 8])
def test_start_is_a_slice_of_the_longer_encoding(layer, start):
    x = checks.array(B, LONGEST, D)
    whole = checks.numpy(layer(x))
    chunk = x[:, start : start + T]
    np.testing.assert_allclose(checks.numpy(layer(chunk, start_index=start)), whole[:, start : start + T], atol=1e-6)
    step = checks.compiled(lambda x, start: layer(x, start_index=start))
    for index in (start, start + 2):
        one = step(x[:, index : index + 1], ops.convert_to_tensor(index, "int32"))
        np.testing.assert_allclose(checks.numpy(one), whole[:, index : index + 1], atol=1e-6)


def test_learned_adds_rows_of_its_table():
    layer = learned()
    table = layer.embeddings.numpy()
    assert table.shape == (LONGEST, D)
    np.testing.assert_allclose(checks.numpy(layer(X)), X + table[:T], atol=1e-6)
    np.testing.assert_allclose(checks.numpy(layer(X, start_index=LONGEST - T)), X + table[-T:], atol=1e-6)
    _, gradient = checks.gradients(lambda x: ops.sum(layer(x)), [X], layer)
    np.testing.assert_allclose(gradient[:, 0], [B] * T + [0] * (LONGEST - T))


@pytest.mark.parametrize("layer", [PositionalEncoding(), learned()], ids=["sinusoidal", "learned"])
def test_keeps_the_mask(layer):
    mask = checks.lengths_mask((5, 3, 1), T)
    x = checks.with_mask(X, mask)
    np.testing.assert_array_equal(checks.mask_of(layer(x)), mask)
    np.testing.assert_array_equal(checks.mask_of(layer(x, start_index=ops.convert_to_tensor(2))), mask)
    assert checks.mask_of(layer(X)) is None


@pytest.mark.parametrize("make", [PositionalEncoding, lambda **k: LearnedPositionalEncoding(LONGEST, **k)])
def test_layer_rules(make, tmp_path):
    checks.check_layer(make, X)
    checks.check_saving(make, X, folder=tmp_path)


def test_odd_and_unknown_widths_raise():
    with pytest.raises(ValueError, match="Sinusoidal and rotary positions need an even width. Received: hidden_dim=7"):
        PositionalEncoding()(np.zeros((B, T, 7), "float32"))
    with pytest.raises(ValueError, match="`inputs` must have a known width"):
        LearnedPositionalEncoding(LONGEST).build((B, T, None))


def test_invalid_sizes_of_learned_positions_raise():
    with pytest.raises(ValueError, match="`max_length` must be a positive integer. Received: max_length=0"):
        LearnedPositionalEncoding(0)
    with pytest.raises(ValueError, match=r"at most max_length=13 steps. Received: inputs.shape=\(1, 14, 22\)"):
        learned()(np.zeros((1, LONGEST + 1, D), "float32"))


@pytest.mark.parametrize("layer", [PositionalEncoding(), learned()], ids=lambda layer: type(layer).__name__)
def test_positions_of_each_step_may_be_given(layer):
    positions = np.array([[0, 1, 2, 3, 4], [0, 0, 0, 1, 2], [3, 4, 5, 6, 7]], "int32")
    found = checks.numpy(layer(X, positions=positions))
    for row, own in enumerate(positions):
        for t, position in enumerate(own):
            one = checks.numpy(layer(X[row : row + 1, t : t + 1], start_index=int(position)))
            np.testing.assert_allclose(found[row, t], one[0, 0], atol=1e-6)
