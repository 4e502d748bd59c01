"""Kills a process that writes SavedModels again and again: each that is there must load and answer.

python tests/long/export_kills.py --kills 30
"""

import argparse
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[2]
sys.path[:0] = [str(ROOT)]

CHECKPOINT = "classification/trec-small"
TEXTS = ["Who was Galileo?", "How far is it from Denver to Aspen?"]


def export_forever(folder: pathlib.Path):
    """Writes one SavedModel after the other, until this process is killed."""
    import zoo

    predictor, number = zoo.load(CHECKPOINT), 0
    while True:
        number += 1
        predictor.export(folder / f"export-{number}")
        print(number, flush=True)


def answers(folder: pathlib.Path):
    """Returns the probabilities of a SavedModel for some texts."""
    import tensorflow as tf

    return tf.saved_model.load(folder).signatures["serving_default"](tf.constant(TEXTS))["probabilities"].numpy()


def check(kills: int, seed: int, folder: pathlib.Path, log=print) -> None:
    """Kills `kills` processes; raises `AssertionError` if a SavedModel is there in part, or says something else."""
    import numpy as np

    import zoo

    predictor, begin = zoo.load(CHECKPOINT), time.monotonic()
    predictor.export(folder / "reference")
    seconds, expected = time.monotonic() - begin, answers(folder / "reference")
    generator, writing, whole = random.Random(seed), 0, 0
    for number in range(1, kills + 1):
        place = folder / str(number)
        place.mkdir()
        command = [sys.executable, __file__, "--export-to", str(place)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
            assert child.stdout.readline() == b"1\n", "the first export, behind which the next one begins"
            time.sleep(seconds * generator.random())
            child.kill()
        writing += any(place.glob("*.part"))
        found = [path for path in place.iterdir() if path.suffix != ".part"]
        assert place / "export-1" in found, "what was finished before the kill is there"
        for path in found:
            np.testing.assert_allclose(answers(path), expected, atol=1e-5, err_msg=str(path))
        whole += len(found)
        shutil.rmtree(place)
        log(f"{number} of {kills} kills, {writing} of them while a file was written; {whole} SavedModels, all whole")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--export-to", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.export_to:
        return export_forever(options.export_to)
    with tempfile.TemporaryDirectory() as folder:
        check(options.kills, options.seed, pathlib.Path(folder))


if __name__ == "__main__":
    main()
