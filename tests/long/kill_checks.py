"""Kills training runs with SIGKILL at random times; each must resume to the weights of an uninterrupted run.

python tests/long/kill_checks.py --kills 50
"""

import argparse
import dataclasses
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[2]
CHANGES = {"steps": 40, "evaluate_every": 2, "average": 3}
_CHILD = "import runpy; runpy.run_path({file!r})['run']({folder!r}, {trained!r})"


def run(folder, trained):
    """Trains or resumes, and writes the final weights; runs in each process."""
    import keras
    import trainer_checks

    from zoo.storage.arrays import save_arrays
    from zoo.storage.lock import folder_lock
    from zoo.training.trainer import Trainer

    class Wide(trainer_checks.Bag):
        """Adds a million weights that are not trained, so that writing a checkpoint takes longer."""

        def build(self, inputs_shape=None):
            super().build()
            self.ballast = self.add_weight(name="ballast", shape=(1000, 1000), initializer="ones", trainable=False)

    keras.utils.set_random_seed(1)
    model = Wide(dropout=0.3, eager=False)
    model.build()
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    with folder_lock(folder):
        config = dataclasses.replace(trainer_checks.CONFIG, **CHANGES)
        trainer = Trainer(
            model, config, folder / "training", lambda model: {"score": float(model.trainable_weights[0][5, 0])}
        )
        print("begun", flush=True)
        save_arrays(trained, trainer.fit(trainer_checks.stream(trainer)))


def check(kills: int, seed: int, folder: pathlib.Path, log=print) -> None:
    """Kills `kills` processes; raises `AssertionError` if a run has another result than the reference."""
    from trainer_checks import assert_same

    from zoo.storage.arrays import load_arrays

    rng, done, runs, writing = random.Random(seed), 0, 0, 0
    reference = folder / "reference.safetensors"
    begin = time.perf_counter()
    with start(folder / "reference", reference) as child:
        wait_until_begun(child)
        begun = time.perf_counter()
        assert child.wait() == 0, "the uninterrupted run failed"
    seconds = time.perf_counter() - begun
    log(f"uninterrupted: {begun - begin:.1f} s to start, then {seconds:.1f} s")
    expected = load_arrays(reference)[0]
    while done < kills:
        runs += 1
        own, trained = folder / f"run-{runs}", folder / f"run-{runs}.safetensors"
        while True:
            with start(own, trained) as child:
                if done < kills:
                    wait_until_begun(child)
                    time.sleep(rng.random() * 0.6 * seconds)
                    if child.poll() is None:
                        child.send_signal(signal.SIGKILL)
                if child.wait() == 0:
                    break
                assert child.returncode == -signal.SIGKILL, child.stderr.read()
            done += 1
            writing += bool([*own.glob("**/*.part")])
        assert_same(load_arrays(trained)[0], expected)
        log(f"{done} kills, {writing} of them within the writing of a file: run {runs} ended with the same bits")


def start(folder, trained):
    """Starts a process that trains in `folder`."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    code = _CHILD.format(file=__file__, folder=str(folder), trained=str(trained))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, cwd=ROOT, **pipes)


def wait_until_begun(child):
    """Waits until the process starts to train."""
    assert child.stdout.readline().strip() == "begun", child.stderr.read()


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--kills", type=int, default=50)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        check(options.kills, options.seed, pathlib.Path(folder))


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    main()
