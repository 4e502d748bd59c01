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
TRAIN_MODELS = "03_masks_and_training", "04_decoding", "05_families"


def lectures():
    for path in LECTURES:
        yield pytest.param(path, id=path.stem, marks=[pytest.mark.long] if path.stem in TRAIN_MODELS else [])


@pytest.mark.slow
@pytest.mark.parametrize("path", [*lectures()])
def test_lectures_run(path, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "LECTURE_STEPS": "48", "LECTURE_TRIALS": "20"}
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
    if path.stem == "03_masks_and_training":
        failed = re.findall(r"^(?:with the mask, |without it, )?failed: (.*)$", run.stdout, re.M)
        assert failed[0] == "()" and "padding invariance" in failed[1] and failed[2] == "('causality',)"
        assert run.stdout.count(" %") >= 4 and "it writes" in run.stdout
    if path.stem == "04_decoding":
        missed = [float(share) for share in re.findall(r"missed in +(\S+) %", run.stdout)]
        assert missed[0] > 20 and missed[-1] == 0 and missed == sorted(missed, reverse=True)
        assert "1 iteration: danke Dank, probability 0.1" in run.stdout
        assert "2 iterations: vielen Dank, probability 0.48" in run.stdout
        held_out = re.findall(r"on the other half (\S+)", run.stdout)
        assert float(held_out[0]) > 0.9 and len(held_out) == 3
    if path.stem == "05_families":
        assert "pretrained:     1.0" in run.stdout and "both:    Wo ist mein Hut?" in run.stdout
        assert "without positions  the shuffled image differs by 0.00000" in run.stdout
        assert "set_loss" in run.stdout


def test_lectures_are_found():
    assert len(LECTURES) == 5
