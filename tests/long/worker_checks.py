"""Trains in several processes: the weights must equal those of one process, also after one is killed or stopped.

python tests/long/worker_checks.py --data .../translation/multi30k --backend tensorflow
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).parents[2]
STEPS = 20
SETTINGS = {
    "model.num_encoder_layers": 1,
    "model.num_decoder_layers": 1,
    "model.hidden_dim": 64,
    "model.intermediate_dim": 128,
    "model.vocabulary_size": 2000,
    "model.dropout": 0,
    "model.attention_dropout": 0,
    "model.activation_dropout": 0,
    "training.batch_tokens": 2048,
    "training.micro_batch_tokens": 1024,
    "training.max_tokens": 24,
    "training.steps": STEPS,
    "training.warmup_steps": 10,
    "training.cooldown_steps": 0,
    "training.score": "loss",
}


def command(corpora: list[pathlib.Path], output: pathlib.Path, every: int, workers: int = 2) -> list[str]:
    """Returns the command that trains a tiny translator on source, target, dev source and dev target."""
    given = SETTINGS | {"training.evaluate_every": every}
    arguments = [f"--{name}" for name in ("source", "target", "dev-source", "dev-target")]
    pairs = [item for name, path in zip(arguments, corpora) for item in (name, str(path))]
    changes = [item for name, value in given.items() for item in ("--set", f"{name}={value}")]
    several = ["--strategy", "workers"] if workers > 1 else []
    return ["-m", "zoo.translation", "train", "--recipe", "tiny", *pairs, *changes, *several, "--output", str(output)]


def start(arguments: list, backend: str, workers: int, **environment: str) -> list[subprocess.Popen]:
    """Starts the processes that train together, or a single one."""
    addresses = [f"localhost:{port}" for port in free_ports(workers)]
    processes = []
    for index in range(workers):
        config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
        own = {"KERAS_BACKEND": backend, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3", **environment}
        own |= {"TF_CONFIG": json.dumps(config)} if workers > 1 else {}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        line = [sys.executable, *arguments]
        processes.append(subprocess.Popen(line, env={**os.environ, **own}, cwd=ROOT, **pipes))
    return processes


def outcomes(processes: list[subprocess.Popen], seconds: float = 600) -> list[tuple[int, str]]:
    """Returns exit status and output of each process; kills those that do not end in time."""
    found, end = [], time.monotonic() + seconds
    for process in processes:
        try:
            text, _ = process.communicate(timeout=max(1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            text = process.communicate()[0] + "\nTIMED OUT"
        found.append((process.returncode, text))
    return found


def train(arguments: list, backend: str, workers: int) -> None:
    """Trains; raises `AssertionError` with the output of a process that fails."""
    for status, text in outcomes(start(arguments, backend, workers)):
        assert status == 0, text


def free_ports(count: int) -> list[int]:
    """Returns free ports."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("localhost", 0))
        return [each.getsockname()[1] for each in sockets]


def weights(folder: pathlib.Path, step: int) -> dict[str, np.ndarray]:
    """Loads the weights of a run after a step."""
    from zoo.storage.arrays import load_arrays

    return load_arrays(folder / "training" / f"step-{step:07d}.safetensors")[0]


def largest_difference(arrays: dict, others: dict) -> float:
    """Returns the largest difference of weights, except for biases of keys, which do not change a softmax."""
    assert arrays.keys() == others.keys()
    return max(np.abs(arrays[name] - others[name]).max() for name in arrays if "key_dense/bias" not in name)


def send_signal(
    arguments: list, folder: pathlib.Path, backend: str, victim: int, step: int, number: int = signal.SIGKILL
) -> list[tuple[int, str]]:
    """Sends a signal to a worker after the checkpoint of a step; returns the outcomes of all workers."""
    processes, path = start(arguments, backend, 2), folder / "training" / f"state-{step:07d}.safetensors"
    end = time.monotonic() + 600
    while not path.exists() and time.monotonic() < end and all(process.poll() is None for process in processes):
        time.sleep(0.05)
    processes[victim].send_signal(number)
    return outcomes(processes)


def check(corpora: list[pathlib.Path], folder: pathlib.Path, backend: str, log=print) -> None:
    """Raises `AssertionError` if two processes differ from one, or one that was ended changes the result."""
    train(command(corpora, folder / "one", 10, workers=1), backend, 1)
    begun = time.monotonic()
    train(command(corpora, folder / "two", 10), backend, 2)
    log(f"{backend}: two processes took {time.monotonic() - begun:.0f} s")
    compare(folder / "one", folder / "two", log)
    finish_again(corpora, folder / "two", backend, 10)
    for victim in (0, 1):
        kill_and_resume(corpora, folder / f"killed-{victim}", backend, victim, log)
        difference = largest_difference(weights(folder / "two", STEPS), weights(folder / f"killed-{victim}", STEPS))
        log(f"{backend}: the same command resumed it; it differs from the uninterrupted run by {difference:.1e}")
        assert difference == 0


def compare(one: pathlib.Path, two: pathlib.Path, log=print) -> None:
    """Raises `AssertionError` if runs of one and of two processes differ by more than rounding.

    Adam enlarges differences of rounding: they are compared with what the last ten updates have changed, a large part
    of which would differ if gradients of a worker were lost or counted twice.
    """
    moved = largest_difference(weights(one, STEPS - 10), weights(one, STEPS))
    difference = largest_difference(weights(one, STEPS), weights(two, STEPS))
    log(f"after {STEPS} updates two processes differ from one by {difference:.1e}; ten updates changed {moved:.1e}")
    assert difference < 0.01 * moved


def kill_and_resume(corpora: list[pathlib.Path], run: pathlib.Path, backend: str, victim: int, log=print) -> None:
    """Kills one of two workers after update 10, and resumes the run to its end."""
    results = send_signal(command(corpora, run, 5), run, backend, victim, 10)
    status, text = results[1 - victim]
    log(f"{backend}: worker {victim} killed after update 10; the other ended with status {status} and printed:")
    log("\n".join(text.strip().splitlines()[-3:]))
    assert results[victim][0] == -signal.SIGKILL
    aborted = backend == "jax" and status == -signal.SIGABRT  # JAX may be faster than we are.
    assert aborted or (status == 2 and "has lost the others" in text), text
    train(command(corpora, run, 5), backend, 2)


def finish_again(corpora: list[pathlib.Path], run: pathlib.Path, backend: str, every: int = 5) -> None:
    """Goes on with a finished run as if both workers had been ended after the last update; the result is the same."""
    trained = (run / "checkpoint").rename(run.with_name("trained"))
    train(command(corpora, run, every), backend, 2)
    assert len({(place / "model.safetensors").read_bytes() for place in (trained, run / "checkpoint")}) == 1


def check_seed(corpora: list[pathlib.Path], folder: pathlib.Path, backend: str, log=print) -> None:
    """Raises `AssertionError` if two processes with the same seed, all threads and all dropout differ in a bit."""
    rates = [f"model.{name}=0.2" for name in ("dropout", "attention_dropout", "activation_dropout")]
    rates += ["training.subword_dropout=0.1", "training.steps=6"]
    found = []
    for number in ("1", "2"):
        arguments = command(corpora, folder / f"seed-{number}", 3, workers=1)
        arguments += [item for rate in rates for item in ("--set", rate)]
        ((status, text),) = outcomes(start(arguments, backend, 1, PYTHONHASHSEED=number))
        assert status == 0, text
        found.append((folder / f"seed-{number}" / "checkpoint" / "model.safetensors").read_bytes())
    log(f"{backend}: two runs of one process with the same seed {'are equal' if found[0] == found[1] else 'differ'}")
    assert found[0] == found[1]


def check_stop(corpora: list[pathlib.Path], folder: pathlib.Path, backend: str, whole: pathlib.Path, log=print) -> None:
    """Raises `AssertionError` if SIGTERM to worker 1 does not stop both after the same update, or changes the result.

    `whole` is the run of two processes that `check` has trained.
    """
    run = folder / "stopped"
    results = send_signal(command(corpora, run, 5), run, backend, 1, 5, signal.SIGTERM)
    assert [status for status, _ in results] == [143, 143], results
    steps = {re.search(r"SIGTERM: saved at step (\d+) of", text).group(1) for _, text in results}
    log(f"{backend}: both workers stopped at step {', '.join(steps)}")
    assert len(steps) == 1
    train(command(corpora, run, 5), backend, 2)
    difference = largest_difference(weights(whole, STEPS), weights(run, STEPS))
    log(f"{backend}: the same command resumed it; it differs from the uninterrupted run by {difference:.1e}")
    assert difference == 0


def multi30k(data: pathlib.Path, folder: pathlib.Path, pairs: int | None = None) -> list[pathlib.Path]:
    """Returns files of the first `pairs`, or all, and of 8 dev pairs, as an untrained model translates slowly."""
    files = []
    for part, name, count in (("train", "train", pairs), ("dev", "val", 8)):
        for language in ("en", "de"):
            files.append(folder / f"{part}.{language}")
            lines = (data / f"{name}.{language}").read_text("utf-8").split("\n")[:-1][:count]
            files[-1].write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return files


def main():
    default = pathlib.Path(os.environ.get("KERAS_TRANSFORMER_DATA", "")) / "translation" / "multi30k"
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=pathlib.Path, default=default)
    arguments.add_argument("--backend", choices=["tensorflow", "jax"], default="tensorflow")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        corpora = multi30k(options.data, folder)
        check(corpora, folder, options.backend)
        check_seed(corpora, folder, options.backend)
        check_stop(corpora, folder, options.backend, folder / "two")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
