"""What is shown on a terminal while something goes on, and nowhere else."""

import contextlib
import os
import pty
import subprocess
import sys

CODE = """
import time
from zoo.commands.command_line import log
from zoo.text.terminal import working
with working("a [b] task"):
    time.sleep(0.3)
    log("one line")
    time.sleep(0.3)
print("result")
"""


def test_shown_on_a_terminal():
    reader, writer = pty.openpty()
    run = subprocess.run([sys.executable, "-c", CODE], stdout=subprocess.PIPE, stderr=writer, text=True)
    os.close(writer)
    shown = b""
    with contextlib.suppress(OSError):  # The end of a terminal whose other side is closed.
        while part := os.read(reader, 100_000):
            shown += part
    os.close(reader)
    assert (run.returncode, run.stdout) == (0, "result\n") and b"a [b] task" in shown
    assert b"one line\r\n" in shown and b"taskone" not in shown


def test_silent_elsewhere():
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, "result\n", "one line\n")
