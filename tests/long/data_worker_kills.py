"""Trains two translators by two data workers that are killed again and again: their weights are those without them.

python tests/long/data_worker_kills.py --data .../translation/multi30k
"""

import argparse
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
from worker_checks import ROOT, SETTINGS, free_ports, outcomes

from zoo.storage.arrays import load_arrays


def command(data: pathlib.Path, steps: int, *more: str) -> list[str]:
    """Returns arguments of `train`: a tiny translator with subword dropout, whose batches differ in each epoch."""
    given = SETTINGS | {"training.steps": steps, "training.evaluate_every": steps, "training.subword_dropout": 0.1}
    sides = ("--source", "val", "en"), ("--target", "val", "de"), ("--dev-source", "test2016", "en")
    files = [
        item
        for name, part, language in (*sides, ("--dev-target", "test2016", "de"))
        for item in (name, str(data / "tok" / f"{part}.lc.norm.tok.{language}.gz"))
    ]
    changes = [item for name, value in given.items() for item in ("--set", f"{name}={value}")]
    return ["--recipe", "tiny", *files, *changes, *more]


def start(*arguments: str, **environment: str) -> subprocess.Popen:
    """Starts `python -m ...` with its output in a pipe."""
    own = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3", **environment}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen([sys.executable, "-m", *arguments], env=own, cwd=ROOT, **pipes)


def children(process: subprocess.Popen) -> list[int]:
    """Returns the processes that a process has started."""
    tasks = pathlib.Path(f"/proc/{process.pid}/task").glob("*/children")
    return [int(number) for task in tasks for number in task.read_text().split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = pathlib.Path(os.environ.get("KERAS_TRANSFORMER_DATA", "")) / "translation" / "multi30k"
    parser.add_argument("--data", type=pathlib.Path, default=default)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--backend", choices=("tensorflow", "jax"), default="tensorflow", help="of the trainers")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        check(options, pathlib.Path(folder))


def check(options, folder):
    arguments = command(options.data, options.steps)
    backend = {"KERAS_BACKEND": options.backend}
    alone = start("zoo.translation", "train", *arguments, "--output", str(folder / "alone"), **backend)
    ((status, text),) = outcomes([alone], 1800)
    assert status == 0, text
    first = min(free_ports(2))
    workers = start("zoo", "data-worker", "--port", f"{first}", "--processes", "2", "translation", *arguments)
    seen = 0
    for line in workers.stdout:  # Until both serve.
        seen += "serving batches" in line
        if seen == 2:
            break
    own = {**backend, "KERAS_TRANSFORMER_DATA_WORKERS": f"localhost:{first},localhost:{first + 1}"}
    outputs = [folder / "one", folder / "two"]
    trainers = [start("zoo.translation", "train", *arguments, "--output", str(run), **own) for run in outputs]
    time.sleep(30)  # A data worker that ends sooner is not started again.
    kills, rng = 0, random.Random(1)
    while any(trainer.poll() is None for trainer in trainers):
        running = children(workers)
        if len(running) == 2:
            os.kill(rng.choice(running), signal.SIGKILL)
            kills += 1
        time.sleep(40)
    found = outcomes(trainers)
    workers.terminate()
    workers.communicate()
    expected, _ = load_arrays(folder / "alone" / "training" / f"step-{options.steps:07d}.safetensors")
    for run, (status, text) in zip(outputs, found):
        assert status == 0, text
        arrays, _ = load_arrays(run / "training" / f"step-{options.steps:07d}.safetensors")
        same = all(np.array_equal(arrays[name], expected[name]) for name in expected)
        told = re.findall(r"batches made by data workers: .*", text)
        print(f"{run.name}: {'equal to the bit' if same else 'DIFFERS'}; {' '.join(told)}")
        assert same
    print(f"{kills} data workers were killed")


if __name__ == "__main__":
    main()
