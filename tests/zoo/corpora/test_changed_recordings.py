"""Recordings that are changed at random: speed, silence, noise, in an order that resumes."""

import itertools

import numpy as np
import pytest

pytest.importorskip("soxr", reason="soxr is not installed")
from zoo.corpora.batching import BatchStream
from zoo.corpora.changed_recordings import ChangedRecordings, coloured_noise
from zoo.corpora.speech_rows import SpeechRows
from zoo.corpora.token_rows import TokenRows
from zoo.training_config import SoundAugmentConfig

RATE, STEP = 8_000, 320
ROWS = np.arange(40)


@pytest.fixture(scope="module")
def corpus():
    """Tones of 1,000 Hz, 0.5 to 1.5 seconds long, with one to five tokens."""
    rng = np.random.default_rng(0)
    sounds = [8_000 * np.sin(2 * np.pi * 1_000 * np.arange(n) / RATE) for n in rng.integers(4_000, 12_000, len(ROWS))]
    texts = [[5] * n for n in rng.integers(1, 6, len(ROWS))]
    return SpeechRows(TokenRows.of([np.rint(sound) for sound in sounds], "int16"), TokenRows.of(texts), STEP)


def changed(corpus, epoch=1, seed=3, **changes):
    return ChangedRecordings(corpus, SoundAugmentConfig(**changes), seed, RATE).epoch(epoch)


def gathered(corpus, rows=ROWS):
    """Returns the samples of each row, and the steps of which there are as many as `lengths` says."""
    steps = corpus.lengths()[0][rows]
    batch = corpus.gather(rows, [int(steps.max()), 6], 2)
    np.testing.assert_array_equal(-(-batch["num_samples"][:-2] // STEP), steps)
    assert (
        not batch["samples"][-2:].any()
        and not batch["num_samples"][-2:].any()
        and len(batch["target"]) == len(rows) + 2
    )
    for samples, count in zip(batch["samples"], batch["num_samples"]):
        assert not samples[count:].any()
    return [samples[:count].astype("float64") for samples, count in zip(batch["samples"], batch["num_samples"][:-2])]


def test_speeds_change_lengths_and_pitch(corpus):
    given, found = gathered(corpus), gathered(changed(corpus, speed=0.2))
    speeds = np.array([len(a) / len(b) for a, b in zip(given, found)])
    assert 0.8 <= speeds.min() < 0.86 and 1.14 < speeds.max() <= 1.2
    for speed, sound in zip(speeds, found):
        peak = np.abs(np.fft.rfft(sound * np.hanning(len(sound)))).argmax() * RATE / len(sound)
        assert peak == pytest.approx(1_000 * speed, abs=RATE / len(sound))
    assert np.abs(found[0][100:-100]).max() == pytest.approx(8_000, rel=0.02)


def test_silence_is_before_and_behind(corpus):
    given, found = gathered(corpus), gathered(changed(corpus, silence=0.25))
    places = []
    for a, b in zip(given, found):
        first = int(np.flatnonzero(b)[0]) - int(np.flatnonzero(a)[0])
        np.testing.assert_array_equal(b, np.pad(a, (first, len(b) - len(a) - first)))
        places += [first, len(b) - len(a) - first]
    assert 0 <= min(places) < 100 and 1_900 < max(places) <= 2_000


def test_noise_has_its_share_and_ratio(corpus):
    given, found = gathered(corpus), gathered(changed(corpus, noise=0.5, noise_ratio=5.0))
    noises = [b - a for a, b in zip(given, found)]
    ratios = [10 * np.log10((a**2).mean() / (n**2).mean()) for a, n in zip(given, noises) if n.any()]
    assert 10 <= len(ratios) <= 30 and 4.9 < min(ratios) < 15 and 30 < max(ratios) < 40.1
    whole = gathered(changed(corpus, noise=1.0, silence=0.2, noise_ratio=5.0))
    assert all(sound[:10].any() or sound[-10:].any() for sound in whole), "over the silence, too"


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0])
def test_power_of_noise_falls_with_the_frequency(exponent):
    noise = coloured_noise(np.random.default_rng(0), 40_001, exponent)
    assert np.mean(noise**2) == pytest.approx(1, rel=1e-3) and abs(noise.mean()) < 1e-3
    power = np.abs(np.fft.rfft(noise))[1:] ** 2
    slope = np.polyfit(np.log(np.arange(1, len(power) + 1)), np.log(power), 1)[0]
    assert slope == pytest.approx(-exponent, abs=0.03)


def test_loud_recordings_are_clipped():
    loud = SpeechRows(TokenRows.of([[32_767, -32_768] * 2_000], "int16"), TokenRows.of([[5]]), STEP)
    (found,) = gathered(changed(loud, noise=1.0, noise_ratio=0.0), ROWS[:1])
    assert (np.sign(found[::2]) > 0).mean() > 0.8, "without clipping, half of the signs change"
    assert len(gathered(changed(loud, noise=1.0), ROWS[:1])[0]) == 4_000


def test_texts_still_fit():
    """CTC needs a step for each of three equal tokens and one between each two of them."""
    tight = SpeechRows(TokenRows.of([[99] * 5 * STEP] * 20, "int16"), TokenRows.of([[5] * 3] * 20), STEP)
    assert changed(tight, speed=0.5).lengths()[0].min() >= 5


def test_choices_depend_on_seed_epoch_and_row_only(corpus):
    options = dict(speed=0.1, silence=0.1, noise=0.8)
    found = gathered(changed(corpus, **options))
    for row in (7, 3):
        np.testing.assert_array_equal(gathered(changed(corpus, **options), ROWS[row : row + 1])[0], found[row])
    for other in (changed(corpus, epoch=2, **options), changed(corpus, seed=4, **options)):
        assert not np.array_equal(gathered(other)[7], found[7])


def test_each_row_has_its_own_noise():
    quiet = SpeechRows(TokenRows.of([[9_000] * 4_000] * 2, "int16"), TokenRows.of([[5]] * 2), STEP)
    one, two = (np.fft.rfft(sound - 9_000) for sound in gathered(changed(quiet, noise=1.0, noise_ratio=0.0), ROWS[:2]))
    assert np.abs(np.angle(one / two))[1:].mean() > 1, "the same noise has the same phases, whatever its colour is"


def test_a_stream_resumes(corpus):
    noisy = ChangedRecordings(corpus, SoundAugmentConfig(speed=0.1, silence=0.1, noise=0.8), 3, RATE)
    stream = BatchStream(noisy, 300, seed=1)
    batches = [*itertools.islice(stream, 12)]
    for start in (3, 9):
        again = next(iter(BatchStream(noisy, 300, seed=1, start=stream.position(start))))
        for name, array in again.items():
            np.testing.assert_array_equal(array, batches[start][name])


def test_nothing_is_the_default(corpus):
    assert not SoundAugmentConfig() and SoundAugmentConfig(silence=0.1)
    with pytest.raises(ValueError, match=r"`noise_ratio` must be a number of decibels from -40 to 40"):
        SoundAugmentConfig(noise_ratio=99.0)
