"""Runs a bench of peers with this package among them.

    python benchmarks/peers.py --bench BENCH --venvs VENVS --systems 'ours*,kerashub' --groups D2 --check

BENCH is the folder of the bench (its run.py), VENVS that of its virtual environments; `tf` among them, with
safetensors, sentencepiece and rich beside what the bench asks for, is the one that this package runs in. All other
options are those of run.py.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
VARIANTS = {
    "": {},
    "_xla": {"jit_compile": True},
    "_packed": {"skip_padding": True},
    "_bf16": {"dtype": "mixed_bfloat16"},
    "_bf16_packed": {"dtype": "mixed_bfloat16", "skip_padding": True},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", required=True, help="folder with the run.py of the bench")
    parser.add_argument("--before", help="another checkout of this package, run as before, before_xla, ...")
    options, others = parser.parse_known_args()
    systems = variants("ours", HERE.parent)
    if options.before:
        systems |= variants("before", pathlib.Path(options.before).resolve())
    with tempfile.NamedTemporaryFile("w", suffix=".json") as extra:
        json.dump(systems, extra)
        extra.flush()
        command = [sys.executable, str(pathlib.Path(options.bench) / "run.py"), "--extra", extra.name, *others]
        sys.exit(subprocess.run(command).returncode)


def variants(name: str, checkout: pathlib.Path) -> dict:
    """The systems of one checkout, as the bench describes systems."""
    env = {"PYTHONPATH": os.pathsep.join([str(checkout / "benchmarks" / "hook"), str(checkout)])}
    return {
        name + suffix: {"venv": "tf", "adapter": "keras_transformer", "options": options, "env": env}
        for suffix, options in VARIANTS.items()
    }


if __name__ == "__main__":
    main()
