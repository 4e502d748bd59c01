"""Random changes of recordings: their speed, silence around them, and noise. NumPy and soxr, no Keras."""

from dataclasses import dataclass

import numpy as np

from zoo.corpora.batching import Corpus
from zoo.corpora.speech_rows import SpeechRows, speech_batch
from zoo.training_config import SoundAugmentConfig

_FAINTEST = 40.0  # Decibels by which a recording is above the faintest noise.
_STEPS_FOR_EACH_TOKEN = 2  # CTC needs a step for each, and one more between two equal ones.


@dataclass(frozen=True)
class ChangedRecordings(Corpus):
    """Recordings that are changed at random. Every choice depends on seed, epoch and row, so training resumes.

    Args:
        corpus: The recordings.
        changes: How they are changed.
        seed: Non-negative integer.
        sampling_rate: Samples a second of the recordings.
    """

    corpus: SpeechRows
    changes: SoundAugmentConfig
    seed: int
    sampling_rate: int

    def epoch(self, epoch: int) -> "_Epoch":
        """Returns the corpus of an epoch."""
        return _Epoch(self.corpus, self.changes, (self.seed, epoch), self.sampling_rate)


class _Epoch(Corpus):
    """The recordings of one epoch, changed as they are gathered."""

    def __init__(self, corpus, changes, seeds, sampling_rate):
        self._corpus, self._changes, self._seeds = corpus, changes, seeds
        rng, count, given = np.random.default_rng(seeds), len(corpus), corpus.samples.lengths
        speeds = rng.uniform(1 - changes.speed, 1 + changes.speed, count)
        enough = _STEPS_FOR_EACH_TOKEN * corpus.samples_per_step * corpus.target.lengths
        self._sizes = np.maximum(np.ceil(given / speeds).astype("int64"), np.minimum(given, enough))
        self._silences = rng.integers(0, int(changes.silence * sampling_rate) + 1, (count, 2))
        self._noises = rng.random((count, 3))  # Whether there is noise, how loud it is, and of what colour.

    def __len__(self):
        return len(self._corpus)

    def lengths(self):
        samples = self._sizes + self._silences.sum(axis=1)
        return [-(-samples // self._corpus.samples_per_step), self._corpus.lengths()[1]]

    def gather(self, rows, widths, fill):
        return speech_batch(self._corpus, [self._changed(row) for row in rows], rows, widths, fill)

    def _changed(self, row):
        samples = self._corpus.samples.row(row)
        if self._sizes[row] != len(samples):
            samples = at_other_speed(samples, self._sizes[row])
        changed = np.pad(samples.astype("float32"), self._silences[row])
        has_noise, level, colour = self._noises[row]
        if has_noise < self._changes.noise:
            ratio = self._changes.noise_ratio + level * (_FAINTEST - self._changes.noise_ratio)
            loudness = np.sqrt(np.mean(np.square(samples, dtype="float32"))) * 10 ** (-ratio / 20)
            changed += loudness * coloured_noise(np.random.default_rng((*self._seeds, row)), len(changed), 2 * colour)
        return np.clip(np.rint(changed), -(2**15), 2**15 - 1).astype("int16")


def at_other_speed(samples: np.ndarray, size: int) -> np.ndarray:
    """Returns int16 samples `[S]` played faster or slower, and so higher or lower, so that there are `size` of them."""
    import soxr

    changed = soxr.resample(samples, len(samples), size)[:size]
    return np.pad(changed, (0, size - len(changed)))


def coloured_noise(rng: np.random.Generator, size: int, exponent: float) -> np.ndarray:
    """Returns noise, float32 `[size]`, whose power falls with the frequency f as 1 / f^exponent, of mean square 1.

    Exponent 0 is white noise, that of electronics; 1 is pink; 2 is brown, such as that of wind and of machines.
    """
    spectrum = np.fft.rfft(rng.standard_normal(size))
    spectrum[1:] *= np.arange(1, len(spectrum)) ** (-exponent / 2)
    spectrum[0] = 0.0
    noise = np.fft.irfft(spectrum, size)
    return (noise / max(np.sqrt(np.mean(noise**2)), 1e-12)).astype("float32")
