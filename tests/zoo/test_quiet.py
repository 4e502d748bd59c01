"""Tests the start of the backend in a command."""

import os
import subprocess
import sys


def test_unused_packages_are_left_out_at_the_start_only():
    script = """
import sys
from zoo.quiet import start_backend
start_backend()
print(sorted({"keras", "sklearn", "matplotlib"} & set(sys.modules)))
import matplotlib
print(matplotlib.__name__)
"""
    environment = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert (found.stdout, found.stderr) == ("['keras']\nmatplotlib\n", "")
