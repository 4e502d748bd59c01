"""Load on the server of `python -m zoo serve`: latencies, memory, errors.

    python benchmarks/web.py --clients 32 --minutes 10
    python benchmarks/web.py --model classification/sst2-small --action classify --texts FILE

Starts a server on this machine and sends it texts from several clients at once, each of which waits for its answer
before it sends the next one. Answers must be those that one client alone gets, up to 0.01 in numbers.
"""

import argparse
import http.client
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import threading
import time

import numpy as np
import rich.console
import rich.table

TEXTS = pathlib.Path(__file__).parents[1] / "examples" / "sentences" / "en.txt"


class Client(threading.Thread):
    """Sends requests one after the other until a time; keeps seconds, and what went wrong."""

    def __init__(self, port, path, body, texts, end, seed, answers=None):
        super().__init__()
        self._port, self._path, self._body, self._texts, self._end = port, path, body, texts, end
        self._random, self.seconds, self.failures = random.Random(seed), [], []
        self.answers = {} if answers is None else answers

    def run(self):
        """Sends the requests on one connection, which is opened again if the server has closed it."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)
        while time.monotonic() < self._end:
            text = self._random.choice(self._texts)
            content = json.dumps({**self._body, "texts": [text]})
            began = time.monotonic()
            try:
                connection.request("POST", self._path, content, {"content-type": "application/json"})
                response = connection.getresponse()
                value = json.loads(response.read())
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.failures.append(repr(error))
                connection.close()
                continue
            self.seconds.append(time.monotonic() - began)
            if response.status != 200:
                self.failures.append(f"{response.status}: {value}")
            elif not alike(self.answers.setdefault(text, value["results"]), value["results"]):
                self.failures.append(f"another answer to {text!r}")
        connection.close()


def alike(one, other):
    """Returns whether two answers are the same, up to 0.01 in numbers."""
    if isinstance(one, dict):
        one, other = [*one.items()], [*other.items()]
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(alike, one, other))
    return abs(one - other) <= 0.01 if isinstance(one, float) else one == other


def resident(process):
    """Returns the megabytes of memory of a process (Linux)."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def start(model):
    """Starts a server on a free port; returns its process and port."""
    command = [sys.executable, "-m", "zoo", "serve", model, "--port", "0"]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    for line in process.stderr:
        if found := re.search(r"http://[^ ]*:(\d+)", line):
            threading.Thread(target=lambda: [*process.stderr], daemon=True).start()
            return process, int(found[1])
    raise SystemExit("error: the server did not start")


def main():
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="translation/en-de")
    parser.add_argument("--action", default="translate")
    parser.add_argument("--texts", type=pathlib.Path, default=TEXTS, help="a text a line")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--minutes", type=float, default=10.0)
    options = parser.parse_args()
    texts = [line for line in options.texts.read_text("utf-8").splitlines() if line.strip()]
    process, port = start(options.model)
    try:
        warm = Client(port, f"/v1/{options.action}", {"model": options.model}, texts, time.monotonic() + 30, 0)
        warm.start()
        warm.join()
        before, end = resident(process), time.monotonic() + 60 * options.minutes
        clients = [
            Client(port, f"/v1/{options.action}", {"model": options.model}, texts, end, seed, warm.answers)
            for seed in range(options.clients)
        ]
        for client in clients:
            client.start()
        peak = before
        while any(client.is_alive() for client in clients):
            time.sleep(1)
            peak = max(peak, resident(process))
        after = resident(process)
    finally:
        process.terminate()
        status = process.wait(60)
    seconds = np.concatenate([client.seconds for client in clients])
    failures = [failure for client in clients for failure in client.failures]
    table = rich.table.Table("", "", show_header=False)
    table.add_row(
        "requests", f"{len(seconds):,} of {options.clients} clients, {len(seconds) / options.minutes / 60:.1f} a second"
    )
    for share in (50, 95, 99):
        table.add_row(f"p{share}", f"{1000 * np.percentile(seconds, share):.0f} ms")
    table.add_row("memory", f"{before:.0f} MB before, {peak:.0f} at most, {after:.0f} after")
    table.add_row("errors", f"{len(failures):,}")
    table.add_row("status at the end", str(status))
    rich.console.Console().print(table)
    for failure in failures[:5]:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
