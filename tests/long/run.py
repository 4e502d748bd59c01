"""Runs every check of this folder in a process of its own and prints a table of the outcomes.

python tests/long/run.py --short
"""

import argparse
import ast
import dataclasses
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import rich.console
import rich.table

FOLDER = pathlib.Path(__file__).parent
ROOT = FOLDER.parents[1]


@dataclasses.dataclass(frozen=True)
class Check:
    """A script of this folder, or pytest.

    Args:
        file: The script, or "pytest".
        full, short: Arguments of a full and of a short run.
        corpus: Folder of the corpus that it reads.
        backend: Package of the Keras backend that it runs on, if that is not TensorFlow.
        description: What it shows.
    """

    file: str
    full: str = ""
    short: str = ""
    corpus: str = ""
    backend: str = ""
    description: str = ""

    def shows(self) -> str:
        """Returns the description or, by default, the first line of the script's docstring."""
        if self.description:
            return self.description
        return ast.get_docstring(ast.parse((FOLDER / self.file).read_text("utf-8"))).splitlines()[0]


LIBRARY = "tests/ops tests/layers tests/decoding tests/training"
SHORT_TEXTS = "--texts 20 --long 20000"
CHECKS = {
    "kills": Check("kill_checks.py", "--kills 50", "--kills 3"),
    "damages": Check("damage_checks.py", short="--kills 25 --flips 250 --truncations 50"),
    "killed exports": Check("export_kills.py", "--kills 30", "--kills 2"),
    "requests": Check("request_checks.py", short="--requests 1000"),
    "soak": Check("soak.py", "--minutes 60", "--minutes 4"),
    "meshes, JAX": Check("mesh_checks.py", backend="jax"),
    "workers, TensorFlow": Check("worker_checks.py", "--backend tensorflow", corpus="translation/multi30k"),
    "workers, JAX": Check("worker_checks.py", "--backend jax", corpus="translation/multi30k"),
    "tests marked long": Check("pytest", "-m long tests", "-m long tests/zoo/tf", description="Tests too long for CI"),
    "shipped scores": Check(
        "shipped_scores.py", short="classification/trec-small", corpus="translation/tatoeba_eng_deu"
    ),
    "first hour": Check("first_hour.py", short="--only list"),
    "hostile texts": Check("hostile_checks.py", short=SHORT_TEXTS),
    "hostile corpora": Check("hostile_corpus_checks.py", short=SHORT_TEXTS),
    "library, JAX": Check("pytest", LIBRARY, "tests/ops", backend="jax", description="All tests of the library on JAX"),
    "library, torch": Check(
        "pytest", LIBRARY, "tests/ops", backend="torch", description="All tests of the library on torch"
    ),
    "library, oldest versions": Check("oldest.py", short="tests/ops"),
    "mutations": Check("mutations.py", "--fresh", "--fresh --every 20"),
}


def run(check: Check, short: bool, log: pathlib.Path) -> str:
    """Runs a check with its output in `log`; returns the outcome."""
    data = os.environ.get("KERAS_TRANSFORMER_DATA")
    if check.corpus and not (data and pathlib.Path(data, check.corpus).is_dir()):
        return f"skipped: KERAS_TRANSFORMER_DATA has no {check.corpus}"
    if check.backend and importlib.util.find_spec(check.backend) is None:
        return f"skipped: {check.backend} is not installed"
    arguments = (check.short if short else check.full).split()
    path = os.pathsep.join(map(str, [ROOT, ROOT / "tests"]))
    program = ["-m", "pytest", "-q"] if check.file == "pytest" else [FOLDER / check.file]
    command = [sys.executable, *program, *arguments]
    with log.open("wb") as file:
        environment = {**os.environ, "PYTHONPATH": path, "KERAS_BACKEND": check.backend or "tensorflow"}
        status = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, env=environment, cwd=ROOT).returncode
    return f"failed: status {status}" if status else "passed"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checks", nargs="*", metavar="NAME", help=f"of {', '.join(CHECKS)}; all by default")
    parser.add_argument("--short", action="store_true", help="fewer kills, fewer and shorter texts")
    parser.add_argument(
        "--logs", type=pathlib.Path, help="folder for the output of each check; a temporary one by default"
    )
    options = parser.parse_args()
    if unknown := {*options.checks} - CHECKS.keys():
        parser.error(f"NAME must be one of {', '.join(CHECKS)}. Received: {', '.join(sorted(unknown))}")
    logs = options.logs or pathlib.Path(tempfile.mkdtemp(prefix="long-checks-"))
    logs.mkdir(parents=True, exist_ok=True)
    table = rich.table.Table("check", "shows", "outcome", rich.table.Column("seconds", justify="right"))
    failed = False
    for name in options.checks or CHECKS:
        log, begin = logs / f"{name.replace(', ', '-').replace(' ', '-')}.log", time.perf_counter()
        outcome = run(CHECKS[name], options.short, log)
        seconds = time.perf_counter() - begin
        print(f"{name}: {outcome}, {seconds:.0f} s", flush=True)
        if outcome.startswith("failed"):
            failed = True
            print("\n".join(log.read_text("utf-8", "replace").splitlines()[-20:]), flush=True)
        table.add_row(name, CHECKS[name].shows(), outcome, f"{seconds:.0f}")
    rich.console.Console().print(table)
    print(f"output of the checks: {logs}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
