"""Tests of the layers that turn sound into vectors."""

import keras
import layer_checks as checks
import numpy as np
import pytest

from keras_transformer import ConvolutionalSubsampling, LogMelSpectrogram, SpecAugment

B, S, RATE, M = 2, 1_003, 8_000, 12
X = checks.array(B, S) * np.float32(0.1)
MASK = np.arange(S) < np.array([[S], [530]])


def log_mel(x, rate, bands, window, hop, lowest, highest):
    """Computes the bands of one sound frame by frame, and band by band, from the definition."""
    size = 1 << (window - 1).bit_length()
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / window)
    to_mel, to_hertz = lambda f: 2595 * np.log10(1 + f / 700), lambda m: 700 * (10 ** (m / 2595) - 1)
    corners = [to_hertz(m) for m in np.linspace(to_mel(lowest), to_mel(highest), bands + 2)]
    padded, found = np.concatenate([x, np.zeros(window)]).astype("float64"), []
    for start in range(0, len(x), hop):
        frame = padded[start : start + window] * hann
        energy = np.abs(np.fft.rfft(frame, size)) ** 2
        row = []
        for left, centre, right in zip(corners, corners[1:], corners[2:]):
            total = 0.0
            for k, value in enumerate(energy):
                f = k * rate / size
                if left < f <= centre:
                    total += value * (f - left) / (centre - left)
                elif centre < f < right:
                    total += value * (right - f) / (right - centre)
            row.append(np.log(total + 1e-6))
        found.append(row)
    return np.array(found)


@pytest.mark.parametrize("limits", [(0.0, 4_000.0), (100.0, 3_000.0)])
def test_log_mel(limits):
    layer = LogMelSpectrogram(RATE, M, 0.02, 0.0075, *limits)
    found = checks.numpy(layer(X))
    expected = [log_mel(x, RATE, M, 160, 60, *limits) for x in X]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert layer.compute_output_shape(X.shape) == found.shape


def test_frames_do_not_depend_on_padding():
    layer = LogMelSpectrogram(RATE, M)
    found = layer(checks.with_mask(X, MASK))
    for row, length in enumerate(MASK.sum(1)):
        alone = checks.numpy(layer(X[row : row + 1, :length]))[0]
        np.testing.assert_allclose(checks.numpy(found)[row, : len(alone)], alone, atol=1e-5)
        assert checks.numpy(checks.mask_of(found))[row].sum() == len(alone)


@pytest.mark.parametrize("samples", [1, 3])
def test_sound_of_a_few_samples_has_a_frame(samples):
    assert LogMelSpectrogram(RATE, M)(X[:, :samples]).shape == (B, 1, M)


def convolved(x, kernel, bias):
    size = len(kernel)
    padded = np.pad(x, ((0, 0), (size // 2, size // 2), (0, 0)))
    steps = [np.einsum("bkc,kcd->bd", padded[:, t : t + size], kernel) + bias for t in range(0, x.shape[1], 2)]
    return np.maximum(np.stack(steps, 1), 0)


@pytest.mark.parametrize("steps", [1, 10, 11])
def test_subsampling(steps):
    layer, x = ConvolutionalSubsampling(6, 2, 5, inner_dim=4, activation="relu"), checks.array(B, steps, M)
    layer.build(x.shape)
    weights = {weight.name: checks.numpy(weight) for weight in checks.randomize(layer).weights}
    expected = convolved(x, weights["kernel_0"], weights["bias_0"])
    expected = convolved(expected, weights["kernel_1"], weights["bias_1"])
    found = checks.numpy(layer(x))
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert layer.compute_output_shape(x.shape) == found.shape


def test_steps_do_not_depend_on_padding():
    layer, x = ConvolutionalSubsampling(6, 2), checks.array(B, 13, M)
    layer.build(x.shape)
    checks.randomize(layer)
    found = layer(checks.with_mask(x, np.arange(13) < np.array([[13], [6]])))
    alone = checks.numpy(layer(x[1:, :6]))[0]
    np.testing.assert_allclose(checks.numpy(found)[1, : len(alone)], alone, atol=1e-5)
    np.testing.assert_array_equal(checks.numpy(checks.mask_of(found))[1], [True] * 2 + [False] * 2)


def test_bars():
    """They have at most their widths, lie within the real frames, and differ between rows; none outside of training."""
    frames, bands, rows = 60, 20, 50
    x = np.ones((rows, frames, bands), "float32")
    mask = np.arange(frames) < np.where(np.arange(rows) % 2, 30, frames)[:, None]
    layer = SpecAugment(time_masks=1, time_width=40, time_share=0.5, frequency_masks=0, seed=1)
    hidden = checks.numpy(layer(checks.with_mask(x, mask), training=True)) == 0
    assert (hidden.all(2) == hidden.any(2)).all()
    widths = hidden[:, :, 0].sum(1)
    assert widths[::2].max() <= 30 and widths[1::2].max() <= 15 and widths[1::2].max() > 10 and len({*widths}) > 5
    assert not (hidden[:, :, 0] & ~mask).any()
    assert all((np.diff(np.flatnonzero(row)) == 1).all() for row in hidden[:, :, 0]), "a bar has no holes"
    layer = SpecAugment(time_masks=0, frequency_masks=1, frequency_width=7, seed=1)
    hidden = checks.numpy(layer(x, training=True)) == 0
    widths = hidden[:, 0].sum(1)
    assert widths.max() == 7 and widths.min() == 0 and (hidden == hidden[:, :1]).all()
    np.testing.assert_array_equal(checks.numpy(layer(x)), x)


def test_in_a_functional_model_and_saved(tmp_path):
    sound = keras.Input((None,))
    x = SpecAugment()(LogMelSpectrogram(RATE, M)(sound))
    model = keras.Model(sound, ConvolutionalSubsampling(6)(x))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(checks.numpy(loaded(X)), checks.numpy(model(X)), atol=1e-6)


@pytest.mark.parametrize(
    "layer, options",
    [
        (LogMelSpectrogram, {"hop": 0.0}),
        (LogMelSpectrogram, {"max_frequency": 9_000.0}),
        (ConvolutionalSubsampling, {"hidden_dim": 4, "kernel_size": 4}),
        (ConvolutionalSubsampling, {"hidden_dim": 0}),
        (SpecAugment, {"time_masks": -1}),
    ],
)
def test_invalid_arguments(layer, options):
    with pytest.raises(ValueError, match="Received"):
        layer(**options)
