"""A corpus of tones: a letter for each height, spoken in words of one to three letters."""

import io

import numpy as np
import pytest

RATE = 8_000
TONES = {"a": 500, "b": 1_000, "c": 2_000}


def tone(text, rng, rate=RATE):
    """Returns the sound of a text, float32 `[S]`: 80 ms of a tone for each letter, and silence for a space."""
    parts = []
    for letter in text:
        times = np.arange(int(0.08 * rate)) / rate
        wave = np.sin(2 * np.pi * TONES[letter] * times) * np.hanning(len(times)) if letter in TONES else 0 * times
        parts.append(wave * rng.uniform(0.2, 0.5))
    sound = np.concatenate([np.zeros(rate // 50), *parts, np.zeros(rate // 50)])
    return (sound + rng.normal(0, 0.002, len(sound))).astype("float32")


def wav(sound, rate=RATE, **options):
    """Returns the content of a WAV file."""
    import soundfile

    file = io.BytesIO()
    soundfile.write(file, sound, rate, **{"format": "WAV", "subtype": "PCM_16", **options})
    return file.getvalue()


def random_text(rng, words=2):
    return " ".join("".join(rng.choice([*TONES], rng.integers(1, 4))) for _ in range(rng.integers(1, words + 1)))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with recordings and a table of them."""
    pytest.importorskip("soundfile")
    pytest.importorskip("soxr")
    path, rng, lines = tmp_path_factory.mktemp("tones"), np.random.default_rng(0), ["text\taudio"]
    for number in range(80):
        text = random_text(rng)
        (path / f"{number:02d}.wav").write_bytes(wav(tone(text, rng)))
        lines.append(f"{text}\t{number:02d}.wav")
    (path / "table.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    return path
