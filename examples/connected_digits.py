"""Makes recordings of connected digits from those of single digits, such as the Free Spoken Digit Dataset.

    python examples/connected_digits.py --data train.tsv --audio train.zip --output train --count 6000 --single
    python -m zoo.recognition train --data train/recordings.tsv --dev-data dev/recordings.tsv --output run \
        --set model.sampling_rate=8000 --set model.num_mels=40

Each recording joins 1 to 10 recordings of one speaker, with pauses of up to half a second; its text is the digits,
separated by spaces. With `--single` those of single digits follow as they are, so that a model also sees recordings
without a pause. With `--speed 0.1` each digit is 10 % slower to 10 % faster (Ko et al. 2015, "Audio Augmentation for
Speech Recognition"). Same seed, same files.
"""

import argparse
import io
import pathlib
import zipfile
from collections import defaultdict

import numpy as np

from zoo.extras import exit_without


def main() -> None:
    """Writes the recordings as WAV files, and a table of their names and texts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", required=True, help="table of digit, speaker and file, tab-separated, no header")
    parser.add_argument("--audio", required=True, help="zip file with the recordings")
    parser.add_argument("--output", required=True, help="folder to create")
    parser.add_argument("--count", type=int, default=1_000, help="recordings to make, %(default)s by default")
    parser.add_argument("--digits", type=int, nargs=2, default=[1, 10], help="fewest and most digits, 1 10 by default")
    parser.add_argument(
        "--single", type=int, nargs="?", const=1, default=0, help="write each single digit as well, this many times"
    )
    parser.add_argument("--speed", type=float, default=0.0, help="largest change of the speed, below 1, 0 by default")
    parser.add_argument("--seed", type=int, default=1, help="%(default)s by default")
    options = parser.parse_args()
    if not 0 <= options.speed < 1:
        parser.error(f"--speed must be from 0 to below 1. Received: {options.speed}. 0.1 is usual.")
    exit_without("This example", "soundfile", "soxr")
    import soundfile
    import soxr

    speakers, archive = defaultdict(list), zipfile.ZipFile(options.audio)
    for line in pathlib.Path(options.data).read_text("utf-8").splitlines():
        digit, speaker, name = line.split("\t")
        samples, rate = soundfile.read(io.BytesIO(archive.read(name)), dtype="int16")
        speakers[speaker].append((digit, samples))
    rng, names, folder = np.random.default_rng(options.seed), sorted(speakers), pathlib.Path(options.output)
    folder.mkdir(parents=True)
    lines, made = ["audio\ttext"], []

    def at_some_speed(samples):
        return soxr.resample(samples, rate * rng.uniform(1 - options.speed, 1 + options.speed), rate)

    for _ in range(options.count):
        recordings = speakers[names[rng.integers(len(names))]]
        chosen = [
            recordings[i] for i in rng.integers(len(recordings), size=rng.integers(*options.digits, endpoint=True))
        ]
        parts = []
        for _, samples in chosen:
            pause = np.zeros(rng.integers(rate // 2), "int16")
            parts += [pause, at_some_speed(samples) if options.speed else samples]
        parts.append(np.zeros(rng.integers(rate // 2), "int16"))
        made.append((" ".join(digit for digit, _ in chosen), np.concatenate(parts)))
    for digit, samples in [each for name in names for each in speakers[name]] * options.single:
        made.append((digit, at_some_speed(samples) if options.speed else samples))
    for number, (text, samples) in enumerate(made):
        soundfile.write(folder / f"{number:05d}.wav", samples, rate, subtype="PCM_16")
        lines.append(f"{number:05d}.wav\t{text}")
    (folder / "recordings.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    print(f"written: {folder / 'recordings.tsv'}")


if __name__ == "__main__":
    main()
