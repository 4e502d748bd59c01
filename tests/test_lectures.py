"""The lectures run from the first to the last cell, and the numbers that they compute several ways are the same."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

ROOT = pathlib.Path(__file__).parents[1]
LECTURES = sorted((ROOT / "examples" / "lectures").glob("[0-9]*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("path", LECTURES, ids=lambda path: path.stem)
def test_lectures_run(path, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run([sys.executable, path], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    if path.stem == "01_one_head":
        numbers = re.findall(r"^by (?:loops|NumPy|the layer): (-?\d\.\d{6})$", run.stdout, re.M)
        assert len(numbers) == 3 and len(set(numbers)) == 1
        one, other = re.findall(r"^by (?:hand|the layer): +(\[.*\])$", run.stdout, re.M)
        assert one == other and "same: True" in run.stdout
    if path.stem == "02_positions":
        assert "'dog' differs by 0.0 without" in run.stdout
        assert all(float(error) < 1e-5 for error in re.findall(r"outputs differ by (\S+)", run.stdout))


def test_lectures_are_found():
    assert len(LECTURES) >= 2
