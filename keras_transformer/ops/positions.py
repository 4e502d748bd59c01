"""Sinusoidal and rotary positions, accurate in float32 at any position that a text can have."""

import math
from typing import Any

import numpy as np
from keras import ops

from keras_transformer.ops.precision import at_least_float32

PAIRINGS = "interleaved", "halves"
_EXACT_BITS = 10  # A float32 product of a 14-bit position and a 10-bit rate is exact.


def sinusoidal_encoding(positions: Any, hidden_dim: int) -> Any:
    """Encodes positions as sines and cosines (Vaswani et al. 2017, section 3.5).

        PE(p, 2i) = sin(p / 10000^(2i/D)),  PE(p, 2i+1) = cos(p / 10000^(2i/D))

    Sines and cosines are interleaved as in the paper; tensor2tensor and fairseq put all sines first. The
    whole turns of `p * rate` are subtracted exactly before the sine, so that the error stays near 1e-6 up to
    position 16,384, where the plain float32 product has an error of 1e-3.

    Args:
        positions: Integers or whole floats of any shape, below 2^24.
        hidden_dim: Width D, even.

    Returns:
        Float32, the shape of `positions` with an axis of `hidden_dim` appended.
    """
    angles = ops.expand_dims(_angles(positions, _rates(hidden_dim)), -1)
    pairs = ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=-1)
    return ops.reshape(pairs, (*ops.shape(positions), hidden_dim))


def rotate(x: Any, positions: Any, base: float = 10_000.0, pairing: str = "interleaved") -> Any:
    """Rotates pairs of numbers by their positions (Su et al. 2021, eq. 34): pair i by `p * base^(-2i/H)`.

    Args:
        x: Float `[..., T, H]`, H even.
        positions: Integers `[T]`, below 2^24.
        base: Base of the angles.
        pairing: "interleaved" if the numbers 2i and 2i + 1 are pair i, "halves" if i and i + H/2 are.

    Returns:
        The shape of x, in float32 or float64.
    """
    x = at_least_float32(x)
    angles = ops.cast(_angles(positions, _rates(x.shape[-1], base)), x.dtype)
    sine, cosine = ops.sin(angles), ops.cos(angles)
    halves = pairing == "halves"
    first, second = ops.split(x, 2, axis=-1) if halves else (x[..., ::2], x[..., 1::2])
    turned = first * cosine - second * sine, first * sine + second * cosine
    return ops.concatenate(turned, axis=-1) if halves else ops.reshape(ops.stack(turned, axis=-1), ops.shape(x))


def shift_matrix(offset: int, hidden_dim: int) -> np.ndarray:
    """Returns the linear map M_k with `PE(p + k) = M_k PE(p)` for every p: a rotation of each sine-cosine pair.

    Args:
        offset: The shift k, an integer of either sign.
        hidden_dim: Width D, even.

    Returns:
        Float64 `[D, D]`, block-diagonal and orthogonal.
    """
    angles = offset * _rates(hidden_dim) * (2.0 * np.pi)
    matrix = np.zeros((hidden_dim, hidden_dim))
    sine, cosine = np.arange(0, hidden_dim, 2), np.arange(1, hidden_dim, 2)
    matrix[sine, sine] = matrix[cosine, cosine] = np.cos(angles)
    matrix[sine, cosine] = np.sin(angles)
    matrix[cosine, sine] = -np.sin(angles)
    return matrix


def _rates(hidden_dim, base=10_000.0):
    """Returns the turns per position of each sine-cosine pair, float64 `[D / 2]`."""
    if hidden_dim is None or hidden_dim % 2:
        raise ValueError(
            f"Sinusoidal and rotary positions need an even width. Received: hidden_dim={hidden_dim}. "
            "Use an even `hidden_dim` or learned positions."
        )
    return base ** (-np.arange(0, hidden_dim, 2) / hidden_dim) / (2.0 * np.pi)


def _angles(positions, rates):
    """Computes the angles of positions, `positions * rates * 2 pi` without whole turns, with an axis appended."""
    return _fraction_of_turn(ops.cast(positions, "float32"), rates) * (2.0 * math.pi)


def _fraction_of_turn(positions, rates):
    """Computes `positions * rates` without its whole turns, in float32 only."""
    positions = ops.expand_dims(positions, -1)
    fraction = 0.0
    for _ in range(3):
        mantissas, exponents = np.frexp(rates)
        part = np.ldexp(np.round(np.ldexp(mantissas, _EXACT_BITS)), exponents - _EXACT_BITS)
        turns = positions * ops.convert_to_tensor(part.astype("float32"))
        fraction = fraction + turns - ops.floor(turns)
        rates = rates - part
    return fraction - ops.floor(fraction)
