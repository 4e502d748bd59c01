"""The command `data-worker`: processes that make batches for trainers."""

import argparse
import contextlib
import importlib
import signal
import subprocess
import sys
import tempfile
import time

import zoo
from zoo.commands.command_line import log
from zoo.extras import require

_AGAIN = 1.0  # Seconds before a process that has ended is started again.
_LEAST = 30.0  # Seconds that a process must have worked, or it is not started again.


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `data-worker`."""
    text = "port of the first process, %(default)s by default; the others have the next ones"
    command.add_argument("--port", type=int, default=5050, help=text)
    text = "processes, %(default)s by default; one that ends is started again"
    command.add_argument("--processes", type=int, default=1, metavar="N", help=text)
    command.add_argument("task", choices=zoo.tasks(), help="folder of the task")
    command.add_argument("arguments", nargs=argparse.REMAINDER, help="of `train`, but for --output")


def run_data_worker(options: argparse.Namespace) -> int:
    """Makes batches for `train` commands with its address in KERAS_TRANSFORMER_DATA_WORKERS; takes their arguments."""
    require("A data worker", "tensorflow")
    if options.processes < 1 or not 0 < options.port <= 65536 - options.processes:
        raise ValueError(
            f"--processes must be at least 1 and --port from 1 to 65535, with those that follow. Received: "
            f"{options.processes} and {options.port}."
        )
    if options.processes > 1:
        return _keep_running(options)
    from zoo.training.data_workers import serving

    commands = importlib.import_module(f"zoo.{options.task}.__main__").COMMANDS
    with tempfile.TemporaryDirectory() as folder, serving(options.port):
        return commands.main(["train", *options.arguments, "--output", folder])


def _keep_running(options):
    """Runs a process for each port, and starts one that ends again; returns the status of one that ends early."""
    processes, began = {}, {}
    signal.signal(signal.SIGTERM, _interrupt)
    with contextlib.ExitStack() as ending:
        ending.callback(_end, processes)
        while True:
            for port in range(options.port, options.port + options.processes):
                process = processes.get(port)
                if process is not None and process.poll() is None:
                    continue
                if process is not None:
                    if time.monotonic() - began[port] < _LEAST:
                        log(f"the data worker at port {port} ended with status {process.returncode}")
                        return max(1, process.returncode)
                    log(f"the data worker at port {port} ended with status {process.returncode}; it is started again")
                command = [sys.executable, "-m", "zoo", "data-worker", "--port", f"{port}", options.task]
                processes[port] = subprocess.Popen([*command, *options.arguments])
                began[port] = time.monotonic()
            time.sleep(_AGAIN)


def _interrupt(number, frame):
    raise KeyboardInterrupt


def _end(processes):
    for process in processes.values():
        process.terminate()
    for process in processes.values():
        process.wait()
