"""Tests of the command `data-worker`: what it refuses, and processes that are started again."""

import types

import pytest

from zoo.__main__ import main
from zoo.commands import data_working


@pytest.mark.parametrize(
    "arguments", [["--processes", "0"], ["--port", "0"], ["--port", "65535", "--processes", "2"], ["--port", "70000"]]
)
def test_ports_that_do_not_exist_are_refused(arguments, capsys):
    assert main(["data-worker", *arguments, "translation", "--data", "x.tsv"]) == 2
    assert "--port from 1 to 65535" in capsys.readouterr().err


def test_errors_of_the_arguments_of_train_are_told(capsys):
    assert main(["data-worker", "translation", "--data", "missing.tsv", "--dev-data", "missing.tsv"]) == 2
    assert "missing.tsv" in capsys.readouterr().err


class Process:
    """A process that ends when it is asked for its status for the third time."""

    def __init__(self, command, started):
        started.append(command)
        self.port, self.left, self.returncode, self.ended = command[command.index("--port") + 1], 3, None, False

    def poll(self):
        self.left -= 1
        if self.left <= 0:
            self.returncode = -9
        return self.returncode

    def terminate(self):
        self.ended = True

    wait = poll


def run(monkeypatch, seconds):
    """Runs two processes on a clock that goes on by some seconds in each round; returns status, commands, processes."""
    started, processes, clock = [], [], types.SimpleNamespace(now=0.0)

    def sleep(_):
        clock.now += seconds
        if len(started) >= 6:
            raise KeyboardInterrupt

    def start(command):
        processes.append(Process(command, started))
        return processes[-1]

    monkeypatch.setattr(data_working.subprocess, "Popen", start)
    monkeypatch.setattr(data_working, "time", types.SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep))
    monkeypatch.setattr(data_working.signal, "signal", lambda number, handler: None)
    return started, processes


def test_a_process_that_ends_is_started_again(monkeypatch, capsys):
    started, processes = run(monkeypatch, 40)
    main(["data-worker", "--port", "6000", "--processes", "2", "translation", "--data", "x.tsv"])
    assert [command[command.index("--port") + 1] for command in started] == ["6000", "6001"] * 3
    assert all(command[-3:] == ["translation", "--data", "x.tsv"] for command in started)
    assert all(process.ended for process in processes[-2:])
    assert "port 6001 ended with status -9; it is started again" in capsys.readouterr().err


def test_a_process_that_ends_at_once_ends_all(monkeypatch, capsys):
    started, processes = run(monkeypatch, 1)
    assert main(["data-worker", "--port", "6000", "--processes", "2", "translation"]) == 1
    assert len(started) == 2 and all(process.ended for process in processes)
    assert "it is started again" not in capsys.readouterr().err
