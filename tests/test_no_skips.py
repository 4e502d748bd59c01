"""Tests of the plugin that makes tests fail in CI if they skip for missing data or packages."""

import os
import pathlib
import subprocess
import sys

import pytest

TESTS = {
    "test_data.py": "import pytest\ndef test_data(): pytest.skip('KERAS_TRANSFORMER_DATA names no folder')",
    "test_mark.py": "import pytest\n@pytest.mark.skipif(True, reason='x is not installed')\ndef test_mark(): pass",
    "test_module.py": "import pytest\npytest.importorskip('no_such_module')\ndef test_module(): pass",
    "test_other.py": "import pytest\ndef test_other(): pytest.skip('torch compiles nothing')",
    "test_fine.py": "def test_fine(): pass",
}


@pytest.mark.parametrize(
    "strict, outcome", [("", "1 passed, 4 skipped"), ("1", "1 failed, 1 passed, 1 skipped, 2 errors")]
)
def test_missing_things_fail_in_ci(strict, outcome, tmp_path):
    for name, code in TESTS.items():
        (tmp_path / name).write_text(code)
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parent), "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no_skips", "--continue-on-collection-errors", "."]
    environment["KERAS_TRANSFORMER_NO_SKIPS"] = strict
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert outcome in result.stdout.splitlines()[-1], result.stdout
