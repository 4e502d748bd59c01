"""Makes recordings of connected digits from those of single digits, such as the Free Spoken Digit Dataset.

    python examples/connected_digits.py --data train.tsv --audio train.zip --output train --count 6000 --single
    python -m zoo.recognition train --data train/recordings.tsv --dev-data dev/recordings.tsv --output run \
        --set model.sampling_rate=8000 --set model.num_mels=40

Each recording joins 1 to 10 recordings of one speaker, with pauses of up to half a second; its text is the digits,
separated by spaces. With `--single` those of single digits follow as they are, so that a model also sees recordings
without a pause. Same seed, same files.
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
    parser.add_argument("--single", action="store_true", help="write each recording of a single digit as well")
    parser.add_argument("--seed", type=int, default=1, help="%(default)s by default")
    options = parser.parse_args()
    exit_without("This example", "soundfile")
    import soundfile

    speakers, archive = defaultdict(list), zipfile.ZipFile(options.audio)
    for line in pathlib.Path(options.data).read_text("utf-8").splitlines():
        digit, speaker, name = line.split("\t")
        samples, rate = soundfile.read(io.BytesIO(archive.read(name)), dtype="int16")
        speakers[speaker].append((digit, samples))
    rng, names, folder = np.random.default_rng(options.seed), sorted(speakers), pathlib.Path(options.output)
    folder.mkdir(parents=True)
    lines, made = ["audio\ttext"], []
    for _ in range(options.count):
        recordings = speakers[names[rng.integers(len(names))]]
        chosen = [
            recordings[i] for i in rng.integers(len(recordings), size=rng.integers(*options.digits, endpoint=True))
        ]
        parts = []
        for _, samples in chosen:
            parts += [np.zeros(rng.integers(rate // 2), "int16"), samples]
        parts.append(np.zeros(rng.integers(rate // 2), "int16"))
        made.append((" ".join(digit for digit, _ in chosen), np.concatenate(parts)))
    if options.single:
        made += [recording for name in names for recording in speakers[name]]
    for number, (text, samples) in enumerate(made):
        soundfile.write(folder / f"{number:05d}.wav", samples, rate, subtype="PCM_16")
        lines.append(f"{number:05d}.wav\t{text}")
    (folder / "recordings.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    print(f"written: {folder / 'recordings.tsv'}")


if __name__ == "__main__":
    main()
