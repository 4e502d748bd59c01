"""The Dockerfile, by a linter, and what it copies."""

import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]


def test_linter_finds_nothing():
    linter = shutil.which("hadolint", path=pathlib.Path(sys.executable).parent) or shutil.which("hadolint")
    if not linter:
        pytest.skip("hadolint is not installed")
    run = subprocess.run([linter, ROOT / "Dockerfile"], capture_output=True, text=True)
    assert run.returncode == 0 and not run.stdout, run.stdout


def test_copied_files_are_those_that_are_sent():
    """All that COPY names is there, and is let through by .dockerignore."""
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    copied = [name.removeprefix("./") for line in lines if line.startswith("COPY") for name in line.split()[1:-1]]
    sent = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert {*copied} == {*sent} and all((ROOT / name).exists() for name in copied)
