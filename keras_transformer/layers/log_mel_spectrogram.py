"""Sound to frames of mel bands."""

import math
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformer.ops import masks
from keras_transformer.ops.values import check_dense


@keras.saving.register_keras_serializable("keras_transformer")
class LogMelSpectrogram(keras.layers.Layer):
    """Computes the logarithm of the energy of sound in mel bands.

        y[t, m] = log(1e-6 + sum_f |FFT(w * x[t h : t h + W])_f|^2 F[f, m])

    w is the Hann window of W samples, h the hop, and F are triangles between frequencies that are equally far from each
    other in mel, 2595 log10(1 + f / 700) (O'Shaughnessy 1987); as librosa's with `htk=True, norm=None, center=False`
    and torchaudio's with its defaults and `center=False`. Frames begin at every h-th sample, and silence follows the
    sound, so every sound has a frame, and what is computed of it does not depend on padding. `keras.layers.
    MelSpectrogram` has other triangles, decibels and no masks.
    Axes: B batch, S samples, T = S / h frames, rounded up, M bands.

    Args:
        sampling_rate: Samples a second.
        num_mels: Bands M.
        window, hop: Seconds of a frame, and from one to the next.
        min_frequency, max_frequency: Of the bands, in hertz; the second is half of the sampling rate by default.

    Call arguments:
        inputs: Float `[B, S]`, from -1 to 1.
        mask: Boolean `[B, S]`, True at real samples; defaults to the mask that `inputs` carries.

    Returns:
        Float `[B, T, M]`. If there is a mask for samples, with a mask, True at frames whose first sample is real.

    Raises:
        ValueError: If a number is not positive, or the frequencies are not below half of the sampling rate.
    """

    def __init__(
        self,
        sampling_rate: int = 16_000,
        num_mels: int = 80,
        window: float = 0.025,
        hop: float = 0.01,
        min_frequency: float = 0.0,
        max_frequency: float | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.sampling_rate, self.num_mels, self.window, self.hop = sampling_rate, num_mels, window, hop
        self.min_frequency = min_frequency
        self.max_frequency = sampling_rate / 2 if max_frequency is None else max_frequency
        for name in ("sampling_rate", "num_mels", "window", "hop"):
            if not getattr(self, name) > 0:
                raise ValueError(f"`{name}` must be positive. Received: {name}={getattr(self, name)!r}.")
        if not 0 <= self.min_frequency < self.max_frequency <= sampling_rate / 2:
            raise ValueError(
                "`min_frequency` must be below `max_frequency`, and that at most half of the sampling rate. Received: "
                f"min_frequency={min_frequency}, max_frequency={max_frequency}, sampling_rate={sampling_rate}."
            )
        self.window_samples, self.hop_samples = (
            max(1, round(window * sampling_rate)),
            max(1, round(hop * sampling_rate)),
        )
        self._fft_size = 1 << (self.window_samples - 1).bit_length()
        self.supports_masking = True

    def build(self, inputs_shape=None):
        angles = 2 * math.pi * np.arange(self.window_samples) / self.window_samples
        self._hann = (0.5 - 0.5 * np.cos(angles)).astype("float32")
        frequencies = np.linspace(0, self.sampling_rate / 2, self._fft_size // 2 + 1)
        self._filters = mel_filters(frequencies, self.num_mels, self.min_frequency, self.max_frequency)
        self.built = True

    def call(self, inputs, mask=None):
        check_dense(inputs)
        mask = masks.attached_mask(inputs, mask)
        x = ops.cast(inputs, "float32")
        if mask is not None:
            x = x * ops.cast(mask, x.dtype)
        hop, window = self.hop_samples, self.window_samples
        missing = (-ops.shape(x)[1]) % hop + max(0, window - hop)  # The last frame begins with the last whole hop.
        x = ops.pad(x, ((0, 0), (0, missing)))
        frames = ops.extract_sequences(x, window, hop) * self._hann
        real, imaginary = ops.rfft(frames, self._fft_size)
        energy = ops.matmul(ops.square(real) + ops.square(imaginary), self._filters)
        return ops.cast(ops.log(energy + 1e-6), self.compute_dtype)

    def compute_mask(self, inputs, previous_mask=None):
        mask = masks.attached_mask(inputs, previous_mask)
        return None if mask is None else mask[:, :: self.hop_samples]

    def compute_output_shape(self, inputs_shape):
        batch, samples = inputs_shape
        return batch, None if samples is None else -(-samples // self.hop_samples), self.num_mels

    def get_config(self):
        names = "sampling_rate", "num_mels", "window", "hop", "min_frequency", "max_frequency"
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}


def mel_filters(frequencies: np.ndarray, num_mels: int, lowest: float, highest: float) -> np.ndarray:
    """Returns the weights of frequencies `[F]` in hertz in M bands between two frequencies, float32 `[F, M]`."""
    ends = 2595 * np.log10(1 + np.array([lowest, highest]) / 700)
    corners = 700 * (10 ** (np.linspace(*ends, num_mels + 2) / 2595) - 1)
    left, centre, right = corners[:-2], corners[1:-1], corners[2:]
    rising = (frequencies[:, None] - left) / (centre - left)
    falling = (right - frequencies[:, None]) / (right - centre)
    return np.maximum(0, np.minimum(rising, falling)).astype("float32")
