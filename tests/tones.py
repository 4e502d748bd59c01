"""Sounds for tests: a tone for each letter, and silence for a space."""

import io

import numpy as np

RATE = 8_000
TONES = {"a": 500, "b": 1_000, "c": 2_000}


def tone(text, rng, rate=RATE):
    """Returns the sound of a text, float32 `[S]`, 80 ms a letter."""
    parts = []
    for letter in text:
        times = np.arange(int(0.08 * rate)) / rate
        wave = np.sin(2 * np.pi * TONES[letter] * times) * np.hanning(len(times)) if letter in TONES else 0 * times
        parts.append(wave * rng.uniform(0.2, 0.5))
    sound = np.concatenate([np.zeros(rate // 50), *parts, np.zeros(rate // 50)])
    return (sound + rng.normal(0, 0.002, len(sound))).astype("float32")


def wav(sound, rate=RATE, **options):
    """Returns the content of a sound file, by default WAV of 16 bits; other formats have a default of their own."""
    import soundfile

    file = io.BytesIO()
    soundfile.write(file, sound, rate, **{"format": "WAV", **options})
    return file.getvalue()


def random_text(rng, words=2):
    """Returns words of one to three letters."""
    return " ".join("".join(rng.choice([*TONES], rng.integers(1, 4))) for _ in range(rng.integers(1, words + 1)))
