"""Tests how commands end: everything that is registered runs, the teardown of the interpreter does not."""

import subprocess
import sys

import pytest

_SCRIPT = """
import atexit, sys, threading, time
from zoo.distribution.exiting import exit_command, temporary_folder

class Torn:
    def __del__(self):
        print("torn down", file=sys.stderr, flush=True)

torn = Torn()
folder = temporary_folder("kept")
atexit.register(lambda: print("folder", folder.exists()))
threading.Thread(target=lambda: (time.sleep(0.3), print("thread"))).start()
print("command")
{end}
"""


def run(end):
    return subprocess.run([sys.executable, "-c", _SCRIPT.format(end=end)], capture_output=True, text=True)


@pytest.mark.parametrize("status", [0, 3])
def test_exit_command_finishes_all_but_the_teardown(status):
    found = run(f"exit_command({status})")
    assert found.returncode == status
    assert found.stdout.split("\n") == ["command", "thread", "folder True", ""], "output is written, threads are joined"
    assert "torn down" not in found.stderr
    assert "torn down" in run("").stderr, "without `exit_command`, the test would not see it"


def test_errors_have_their_status():
    found = run("raise ValueError('wrong')")
    assert found.returncode == 1 and "ValueError: wrong" in found.stderr
