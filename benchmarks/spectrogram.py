"""Compares `keras_transformer.LogMelSpectrogram` with librosa on the recordings of a folder.

    python benchmarks/spectrogram.py recordings/*.wav

Prints the largest difference of the logarithms, and the time of both for all recordings. Needs `pip install librosa`.
"""

import argparse
import time

import numpy as np

from zoo.extras import exit_without


def of_librosa(samples: np.ndarray, rate: int, num_mels: int) -> np.ndarray:
    """Computes what the layer computes; librosa pads windows to the size of its FFT on both sides."""
    import librosa

    window, hop = round(0.025 * rate), round(0.01 * rate)
    size, frames = 1 << (window - 1).bit_length(), -(-len(samples) // hop)
    padded = np.pad(samples, ((size - window) // 2, frames * hop + size - len(samples)))
    options = {"n_fft": size, "win_length": window, "hop_length": hop, "center": False, "htk": True, "norm": None}
    energy = librosa.feature.melspectrogram(y=padded, sr=rate, n_mels=num_mels, power=2.0, **options)
    return np.log(energy[:, :frames].T + 1e-6)


def main() -> None:
    """Prints the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", help="recordings")
    parser.add_argument("--num-mels", type=int, default=40, help="mel bands, %(default)s by default")
    options = parser.parse_args()
    exit_without("This benchmark", "librosa", "soundfile")
    import soundfile

    from keras_transformer import LogMelSpectrogram

    largest, seconds = 0.0, {"layer": 0.0, "librosa": 0.0}
    for path in options.files:
        samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
        samples = samples.mean(1)
        layer, found = LogMelSpectrogram(rate, options.num_mels), {}
        for name in seconds:
            start = time.perf_counter()
            if name == "layer":
                found[name] = np.asarray(layer(samples[None]))[0]
            else:
                found[name] = of_librosa(samples, rate, options.num_mels)
            seconds[name] += time.perf_counter() - start
        largest = max(largest, float(np.abs(found["layer"] - found["librosa"]).max()))
    print(f"{len(options.files)} recordings: largest difference {largest:.1e}")
    print("   ".join(f"{name} {1000 * value:.0f} ms" for name, value in seconds.items()))


if __name__ == "__main__":
    main()
