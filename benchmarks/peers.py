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
    "ours": {},
    "ours_xla": {"jit_compile": True},
    "ours_bf16": {"dtype": "mixed_bfloat16"},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", required=True, help="folder with the run.py of the bench")
    options, others = parser.parse_known_args()
    path = os.pathsep.join([str(HERE / "hook"), str(HERE.parent)])
    systems = {
        name: {"venv": "tf", "adapter": "keras_transformer", "options": chosen, "env": {"PYTHONPATH": path}}
        for name, chosen in VARIANTS.items()
    }
    with tempfile.NamedTemporaryFile("w", suffix=".json") as extra:
        json.dump(systems, extra)
        extra.flush()
        command = [sys.executable, str(pathlib.Path(options.bench) / "run.py"), "--extra", extra.name, *others]
        sys.exit(subprocess.run(command).returncode)


if __name__ == "__main__":
    main()
