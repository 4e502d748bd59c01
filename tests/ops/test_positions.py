"""Tests of sinusoids against float64, and of the rotation that shifts them."""

import layer_checks as checks
import numpy as np
import pytest
import reference as ref

from keras_transformer.ops.positions import shift_matrix, sinusoidal_encoding

D = 22


@pytest.mark.parametrize("width", [2, D, 512])
def test_equals_float64_up_to_position_10000(width):
    positions = np.arange(10_001) if width < 512 else np.r_[0:100, 4000:4100, 9900:10_001]
    expected = ref.sinusoids(positions, width)
    for encode in (sinusoidal_encoding, checks.compiled(lambda p: sinusoidal_encoding(p, width))):
        encoding = checks.numpy(encode(positions, width) if encode is sinusoidal_encoding else encode(positions))
        assert encoding.dtype == "float32"
        assert np.abs(encoding - expected).max() < 5e-6


def test_sines_and_cosines_are_interleaved():
    encoding = checks.numpy(sinusoidal_encoding(np.array([1]), 4))[0]
    np.testing.assert_allclose(encoding, [np.sin(1), np.cos(1), np.sin(0.01), np.cos(0.01)], atol=1e-6)


def test_positions_of_any_shape_and_dtype():
    positions = np.array([[0, 1, 2], [7, 300, 9000]])
    encoding = checks.numpy(sinusoidal_encoding(positions, D))
    np.testing.assert_allclose(encoding, ref.sinusoids(positions, D), atol=5e-6)
    whole = checks.numpy(sinusoidal_encoding(positions.astype("float32"), D))
    np.testing.assert_array_equal(whole, encoding)


@pytest.mark.parametrize("shift", [0, 1, 17, -5, 4000])
def test_shift_matrix_moves_every_position(shift):
    """PE(p + k) = M_k PE(p), section 3.5: relative offsets are linear maps."""
    matrix = shift_matrix(shift, D)
    positions = np.arange(5, 5990, 53)
    np.testing.assert_allclose(ref.sinusoids(positions, D) @ matrix.T, ref.sinusoids(positions + shift, D), atol=1e-9)
    np.testing.assert_allclose(
        checks.numpy(sinusoidal_encoding(positions, D)) @ matrix.T,
        checks.numpy(sinusoidal_encoding(positions + shift, D)),
        atol=1e-5,
    )
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(D), atol=1e-12)


@pytest.mark.parametrize("width", [7, None])
def test_odd_or_unknown_widths_raise(width):
    with pytest.raises(ValueError, match=f"need an even width. Received: hidden_dim={width}"):
        sinusoidal_encoding(np.arange(3), width)
    with pytest.raises(ValueError, match="need an even width"):
        shift_matrix(1, width)
