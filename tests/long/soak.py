"""Trains a small translator for a long time: memory, files, descriptors and threads must not grow.

python tests/long/soak.py --minutes 60
"""

import argparse
import contextlib
import dataclasses
import pathlib
import sys
import tempfile
import threading
import time

import numpy as np

ROOT = pathlib.Path(__file__).parents[2]
SETTLED = 0.25  # Share of the time after which nothing grows any more.
GROWTH = 0.03  # Most that memory may grow from there to the end.


class Usage:
    """Measures what this process holds, in a thread, every few seconds."""

    def __init__(self, folder: pathlib.Path, seconds: float):
        self.rows, self._folder, self._seconds, self._ended = [], folder, seconds, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._start = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._ended.set()
        self._thread.join()

    def _run(self):
        while not self._ended.wait(self._seconds):
            status = pathlib.Path("/proc/self/status").read_text()
            memory = sum(int(status.split(f"{name}:")[1].split()[0]) for name in ("RssAnon", "VmSwap")) / 1024
            descriptors = len([*pathlib.Path("/proc/self/fd").iterdir()])
            files = sum(1 for path in self._folder.rglob("*") if path.is_file())
            self.rows.append((time.monotonic() - self._start, memory, descriptors, files, self._threads(status)))

    @staticmethod
    def _threads(status):
        return int(status.split("Threads:")[1].split()[0])


def train(folder: pathlib.Path, minutes: float) -> tuple[int, list]:
    """Trains for some minutes, with a checkpoint after every 200 updates; returns the number of updates and usage."""
    import trainer_checks

    from zoo.training.trainer import Trainer

    end, seen = time.monotonic() + 60 * minutes, []

    def evaluate(model):
        seen.append(time.monotonic())
        if time.monotonic() > end:
            raise TimeoutError
        return {"score": float(len(seen))}

    config = dataclasses.replace(trainer_checks.CONFIG, steps=10**9, evaluate_every=200, average=3)
    trainer = Trainer(trainer_checks.make_real(0.1), config, folder, evaluate)
    with Usage(folder, max(0.5, 60 * minutes / 100)) as usage, contextlib.suppress(TimeoutError):
        trainer.fit(trainer_checks.stream(trainer))
    return 200 * len(seen), usage.rows


def check(updates: int, rows: list, log=print) -> None:
    """Raises `AssertionError` if something grows after the beginning."""
    names = "seconds", "MB of its own", "descriptors", "files", "threads"
    settled = rows[int(SETTLED * len(rows)) :]
    first, last = np.array(settled[: len(settled) // 4 + 1]), np.array(settled[-len(settled) // 4 :])
    log(f"{updates:,} updates in {rows[-1][0]:,.0f} s")
    for i, name in enumerate(names[1:], 1):
        before, after = np.median(first[:, i]), np.median(last[:, i])
        log(f"{name}: {before:.1f} after {100 * SETTLED:.0f} % of the time, {after:.1f} at the end")
        assert after <= before * (1 + (GROWTH if i == 1 else 0)) + (1 if i > 1 else 0), f"{name} grows"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        check(*train(pathlib.Path(folder) / "training", options.minutes))


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    main()
