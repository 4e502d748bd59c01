"""Sound files to samples. soundfile and soxr, no Keras."""

import io
import os
import pathlib
import re
from typing import Any

import numpy as np

from zoo.extras import require

SILENT = 3e-4  # Largest sample of what counts as silent: less than ten steps of 16 bits.

_UNKNOWN_SIZE = 2**31 - 1  # From here on: of a WAV file that was written to a pipe.
# What most encoders write into the first frame of an MP3 file; bits of the last byte say which numbers follow.
_MP3_SIZE = re.compile(rb"(?:Xing|Info)\0\0\0(?:[\x02\x06\x0a\x0e]|[\x03\x07\x0b\x0f]....)(....)", re.S)
_MP3_HEAD = 64  # Most bytes of a frame before it.


class NoSound(ValueError):
    """A recording that cannot be used; `reason`: "empty", "no_sound_file", "truncated", "not_finite", "silent"."""

    def __init__(self, reason: str, detail: str):
        super().__init__(f"The file must be a recording such as WAV, FLAC or Ogg. Received: {detail}.")
        self.reason = reason


def decode_sound(content: bytes, sampling_rate: int) -> np.ndarray:
    """Decodes a sound file as int16 `[S]` at a sampling rate; channels are averaged, what is too loud is clipped.

    Raises:
        NoSound: If it is none, empty, or has samples that are not finite.
        ImportError: If soundfile or soxr is not installed.
    """
    require("Reading sound", "soundfile", "soxr")
    import soundfile

    if not content:
        raise NoSound("empty", "an empty file")
    try:
        samples, rate = soundfile.read(io.BytesIO(content), dtype="float32", always_2d=True)
    except (soundfile.LibsndfileError, RuntimeError, ValueError) as error:
        reason = str(error).rpartition(": ")[2].rstrip(".")
        raise NoSound("no_sound_file", f"{len(content):,} bytes of something else ({reason})") from None
    if missing := _missing_bytes(content):
        raise NoSound("truncated", f"a file whose last {missing:,} bytes are missing")
    return convert_samples(samples, rate, sampling_rate)


def _missing_bytes(content):
    """Returns how many bytes a WAV or MP3 file lacks, of which libsndfile reads the rest; FLAC and Ogg it refuses."""
    if content[:4] == b"RIFF":
        size = int.from_bytes(content[4:8], "little")
        missing = size + 8 - len(content) - 1  # A chunk of an odd length may lack its padding.
        return max(0, missing) if size < _UNKNOWN_SIZE else 0
    start = 0
    if content[:3] == b"ID3":  # A tag; its size has 7 bits in a byte.
        start = 10 + sum(byte << 7 * place for place, byte in enumerate(reversed(content[6:10])))
    is_frame = content[start : start + 1] == b"\xff" and content[start + 1 : start + 2] >= b"\xe0"
    found = _MP3_SIZE.search(content[start : start + _MP3_HEAD]) if is_frame else None
    return max(0, start + int.from_bytes(found[1], "big") - len(content)) if found else 0


def convert_samples(samples: np.ndarray, rate: int, sampling_rate: int) -> np.ndarray:
    """Converts samples `[S]` or `[S, channels]`, int16 or floats from -1 to 1, to int16 `[S]` at another rate.

    Raises:
        NoSound: If there is no sample, or one is not finite.
    """
    samples = np.asarray(samples)
    if samples.dtype == np.int16:
        samples = samples / np.float32(2**15)
    if not samples.size:
        raise NoSound("empty", "no sample")
    if not np.isfinite(samples).all():
        raise NoSound("not_finite", "samples that are not finite (NaN or infinite)")
    samples = samples.astype("float32")
    if samples.ndim == 2:
        samples = samples.mean(1)
    if rate != sampling_rate:
        require("Changing the sampling rate", "soxr")
        import soxr

        samples = soxr.resample(samples, rate, sampling_rate)
    return np.clip(np.round(samples * 2**15), -(2**15), 2**15 - 1).astype("int16")


def is_silent(samples: np.ndarray) -> bool:
    """Returns whether samples int16 are all (almost) zero."""
    return not samples.size or int(np.abs(samples.astype("int32")).max()) < SILENT * 2**15


def read_recording(recording: Any, sampling_rate: int) -> np.ndarray:
    """Returns a recording as int16 `[S]` at a sampling rate: of a path, the bytes of a file, or samples at that rate.

    Raises:
        ValueError: If it is none; the message contains the path.
    """
    if isinstance(recording, (str, os.PathLike)):
        try:
            return decode_sound(pathlib.Path(recording).read_bytes(), sampling_rate)
        except NoSound as error:
            raise ValueError(f"{recording}: {error}") from None
    if isinstance(recording, bytes):
        return decode_sound(recording, sampling_rate)
    samples = np.asarray(recording)
    if samples.ndim not in (1, 2) or samples.dtype != np.int16 and samples.dtype.kind != "f":
        raise ValueError(
            "A recording must be a path, the bytes of a file, or an array `[S]` or `[S, channels]` of int16 or of "
            f"floats from -1 to 1, at {sampling_rate:,} samples a second. Received: {samples.dtype} "
            f"{list(samples.shape)}. Convert it."
        )
    return convert_samples(samples, sampling_rate, sampling_rate)


def split_at_pauses(samples: np.ndarray, most: int, sampling_rate: int) -> list[np.ndarray]:
    """Cuts samples int16 into parts of at most `most` samples, each at the quietest tenth of a second of its last half.

    Parts that are silent are left out.
    """
    parts, tenth = [], max(1, sampling_rate // 10)
    while len(samples) > most:
        end = most
        loudness = np.square(samples[most // 2 : most].astype("float32"))
        if len(loudness) > tenth:
            means = np.convolve(loudness, np.ones(tenth, "float32"), "valid")
            end = most // 2 + int(means.argmin()) + tenth // 2
        parts.append(samples[:end])
        samples = samples[end:]
    return [part for part in (*parts, samples) if not is_silent(part)]
