"""Runs the tests of the library on the oldest TensorFlow and Keras that setup.py accepts, in an environment of its own.

python tests/long/oldest.py tests/layers tests/ops
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).parents[2]
LIBRARY = ["tests/ops", "tests/layers", "tests/decoding", "tests/training", "tests/verification"]
TOOLS = ["pytest", "pytest-xdist", "hypothesis", "filelock", "rich", "safetensors", "sentencepiece"]


def oldest_versions() -> list[str]:
    """Returns the lower bounds of TensorFlow and Keras in setup.py, as pip takes them: `["keras==3.13.*", ...]`."""
    text = (ROOT / "setup.py").read_text("utf-8")
    bounds = dict(re.findall(r'"(tensorflow|keras)>=([\d.]+),', text))
    return [f"{name}=={bounds[name]}.*" for name in ("tensorflow", "keras")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "tests", nargs="*", default=LIBRARY, help="what pytest runs; all tests of the library by default"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = pathlib.Path(folder, "bin", "python")
        versions = oldest_versions()
        subprocess.run([python, "-m", "pip", "install", "--quiet", *versions, *TOOLS], check=True)
        print(f"{', '.join(versions)} on Python {sys.version.split()[0]}", flush=True)
        path = os.pathsep.join(map(str, [ROOT, ROOT / "tests"]))
        environment = {**os.environ, "PYTHONPATH": path, "KERAS_BACKEND": "tensorflow"}
        # Deprecations of the oldest versions are no errors, as newer ones have them no more.
        allowed = ["-W", "default::DeprecationWarning", "-W", "default::FutureWarning"]
        command = [python, "-m", "pytest", "-q", "-n", "2", *allowed, "-m", "not slow", *options.tests]
        return subprocess.run(command, env=environment, cwd=ROOT).returncode


if __name__ == "__main__":
    raise SystemExit(main())
