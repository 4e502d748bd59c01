"""Plays a new user: installs a copy of this repository in an empty environment, does what the README says, errs.

python tests/long/first_hour.py
python tests/long/first_hour.py --keep /tmp/first-hour
python tests/long/first_hour.py --keep /tmp/first-hour --only "label and text swapped" header

Installing needs a package index, and a gigabyte of disk space. All in all it takes about a quarter of an hour.
"""

import argparse
import os
import pathlib
import pty
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from typing import NamedTuple

import rich.console
import rich.table
from first_hour_corpora import write_corpora
from first_hour_python_rows import PYTHON, WITH_EXTRAS
from first_hour_rows import EXTRAS, HELP, INSTALL, MISSING_PACKAGES, PREDICTIONS, README, Row
from first_hour_training_rows import DATA, RUNS
from rich.markup import escape

ROOT = pathlib.Path(__file__).parents[2]
ROWS = {row.name: row for row in [*README, *HELP, *MISSING_PACKAGES, *PREDICTIONS, *RUNS, *DATA, *PYTHON, *WITH_EXTRAS]}
SECONDS = 900  # Time limit of a row.
_SIZES = "hidden_dim=16 intermediate_dim=32 num_heads=2"
VARIABLES = {
    "TINY": "--recipe tiny --set training.score=loss --set training.batch_tokens=256 "
    + " ".join(f"--set model.{size}" for size in f"num_encoder_layers=1 num_decoder_layers=1 {_SIZES}".split()),
    "SMALL": "--set training.batch_tokens=512 "
    + " ".join(f"--set model.{size}" for size in f"num_layers=1 vocabulary_size=300 {_SIZES}".split()),
}
_OURS = re.compile("PYTHON|KERAS|TF_|VIRTUAL_ENV|CONDA|COV|PYTEST|MAKE|MFLAGS|TERM$|COLUMNS$")  # Not a new user's.
_NEVER = re.compile(r"Traceback \(most|Exception ignored|%\(default\)")
_STARTUP = re.compile("cuInit|oneDNN|absl::|computation_placer|cpu_feature_guard")  # The log of TensorFlow's start.
_STEERING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Seen(NamedTuple):
    """What was seen of a row: the exit status, None at the time limit, and both outputs."""

    status: int | None
    out: str
    err: str


def faults(row: Row, seen: Seen) -> list[str]:
    """Returns what is wrong with what was seen, in words."""
    found = [] if seen.status == row.status else [f"status {seen.status} instead of {row.status}"]
    for name, pattern, text in (("stdout", row.out, seen.out), ("stderr", row.err, seen.err)):
        if not re.search(pattern, text, re.M):
            found.append(f"{name} has no match of {pattern}")
    # In Python tracebacks are usual. Scripts import Keras themselves, and show its start.
    never = [] if row.code else [_NEVER, _STARTUP] if "python -m zoo" in row.typed else [_NEVER]
    matches = [pattern.search(seen.out + seen.err) for pattern in never]
    found += [f"{match[0]!r} is shown" for match in matches if match]
    return found


def type_in(row: Row, folder: pathlib.Path, environment: Mapping[str, str], seconds: float = SECONDS) -> Seen:
    """Types a row in a folder, and sends its signal, as a terminal does to all processes of the command."""
    command = ["python", "-c", row.typed] if row.code else ["bash", "-c", row.typed]
    program = shutil.which(command[0], path=environment["PATH"])
    ours, its = pty.openpty() if row.stop else os.pipe()
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": its, "start_new_session": True}
    child = subprocess.Popen([program or command[0], *command[1:]], cwd=folder, env=environment, **pipes)
    os.close(its)
    end, shown, stop = time.monotonic() + seconds, {child.stdout.fileno(): b"", ours: b""}, row.stop
    with child, selectors.DefaultSelector() as selector:
        for file in shown:
            selector.register(file, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(max(0.0, end - time.monotonic())):
                part = _read(key.fd)
                shown[key.fd] += part
                if not part:
                    selector.unregister(key.fd)
            if stop and any(re.search(stop[0], _text(content)) for content in shown.values()):
                os.killpg(child.pid, stop[1])
                stop = None
            if time.monotonic() > end:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
                break
    os.close(ours)
    out, err = map(_text, shown.values())
    return Seen(None if time.monotonic() > end else child.returncode, out, err)


def _read(file):
    try:
        return os.read(file, 2**16)
    except OSError:  # The other end of a terminal is closed.
        return b""


def _text(content):
    return _STEERING.sub("", content.decode("utf-8", "replace")).replace("\r\n", "\n").replace("\r", "\n")


def copy_repository(target: pathlib.Path) -> None:
    """Copies the tracked files, as they are in the working tree; keeps the environment of an earlier copy."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for path in target.iterdir() if target.exists() else ():
        if path.name != ".venv" and not path.name.endswith(".egg-info"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)


def make_environment(folder: pathlib.Path, python: str) -> dict[str, str]:
    """Returns the variables of a shell that has nothing of this process but the way to the network and `python3`."""
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    (programs / "python3").write_text(f'#!/bin/sh\nexec {shlex.quote(python)} "$@"\n')
    (programs / "python3").chmod(0o755)
    own = pathlib.Path(sys.prefix, "bin")
    others = [place for place in os.environ["PATH"].split(os.pathsep) if pathlib.Path(place) != own]
    path = os.pathsep.join(map(str, [folder / "repository" / ".venv" / "bin", programs, *others]))
    return {
        **{name: value for name, value in os.environ.items() if not _OURS.match(name)},
        **VARIABLES,
        **{"PATH": path, "KERAS_HOME": str(folder / "keras"), "TERM": "xterm", "COLUMNS": "150"},
        "OLD_PYTHON": old_python(),
    }


def old_python() -> str:
    """Returns a Python on this machine that is too old for the package; an empty string without one."""
    root = pathlib.Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    old = [shutil.which(f"python3.{minor}") for minor in (10, 9, 8, 7)]
    old += map(str, [*root.glob("versions/3.10.*/bin/python3"), *root.glob("versions/3.[0-9].*/bin/python3")])
    code = ["-c", "import sys; sys.exit(sys.version_info >= (3, 11))"]  # Shims of pyenv may start nothing.
    for name in filter(None, old):
        if subprocess.run([name, *code], capture_output=True).returncode == 0:
            return name
    return ""


def readme_commands() -> str:
    """Returns the shell commands of the README."""
    return "\n".join(re.findall(r"^```sh\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.M | re.S))


def chosen_rows(names: list[str], has_extras: bool | None) -> list[Row]:
    """Returns the rows with these names, all without names, with the rows that they come after.

    Args:
        names: The names.
        has_extras: Whether the environment that is there has the extras; None without an environment.
    """
    wanted = {*(names or ROWS)}
    while more := {ROWS[name].after for name in wanted} - {"", *wanted}:
        wanted |= more
    bare = any(ROWS[name].after != EXTRAS for name in wanted - {EXTRAS, INSTALL})
    if has_extras is None or (has_extras and bare):
        wanted.add(INSTALL)
    elif has_extras and EXTRAS not in names:
        wanted.discard(EXTRAS)
    return [row for name, row in ROWS.items() if name in wanted]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="rows, and those that they come after")
    text = "keep the folder with the environment, a temporary one by default; use the environment if it is there"
    parser.add_argument("--keep", nargs="?", const="", metavar="FOLDER", help=text)
    parser.add_argument("--python", default=sys.executable, help="the `python3` of the README; this one by default")
    options = parser.parse_args()
    if unknown := {*options.only} - ROWS.keys():
        parser.error(f"NAME must be one of {', '.join(ROWS)}. Received: {', '.join(sorted(unknown))}")
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # As in the background, where no row could be interrupted.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if options.keep:
        pathlib.Path(options.keep).mkdir(parents=True, exist_ok=True)
        return run_rows(pathlib.Path(options.keep).resolve(), options.only, options.python)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="first-hour-")).resolve()
    try:
        return run_rows(folder, options.only, options.python)
    finally:
        if options.keep is None:
            shutil.rmtree(folder)
        else:
            print(f"kept: {folder}")


def run_rows(folder: pathlib.Path, names: list[str], python: str) -> int:
    """Runs rows in a folder and prints the table; returns 1 if one failed."""
    home, place = folder / "repository", folder / "corpora"
    home.mkdir(exist_ok=True)
    extras = folder / EXTRAS  # Marks an environment that has them.
    has_extras = extras.exists() if (home / ".venv" / "bin" / "python").exists() else None
    copy_repository(home)
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    write_corpora(place)
    environment = make_environment(folder, python)
    table = rich.table.Table("row", "typed", "to be seen", "outcome", rich.table.Column("s", justify="right"))
    failed, begin = [], time.monotonic()
    for row in chosen_rows(names, has_extras):
        if row.name == INSTALL:
            shutil.rmtree(home / ".venv", ignore_errors=True)
            extras.unlink(missing_ok=True)
            row = row._replace(typed=f"set -e\n{readme_commands()}")
        if row.name == EXTRAS:
            extras.touch()
        started = time.monotonic()
        if row.needs and not shutil.which(environment.get(row.needs, row.needs), path=environment["PATH"]):
            outcome = "left out"
        else:
            seen = type_in(row, home if row.at_home else place, environment)
            outcome = "\n".join(wrong := faults(row, seen)) or "passed"
            if wrong:
                failed.append(row.name)
                print(f"{row.typed.strip()}\n-- stdout\n{seen.out[-3000:]}\n-- stderr\n{seen.err[-3000:]}", flush=True)
        took = time.monotonic() - started
        print(f"{row.name}: {outcome}, {took:.1f} s", flush=True)
        expected = [f"status {row.status}", *(text for text in (row.out, row.err) if text)]
        table.add_row(
            row.name, *map(escape, (_short(row.typed), "\n".join(map(_short, expected)), outcome)), f"{took:.0f}"
        )
    console = rich.console.Console(width=None if sys.stdout.isatty() else 150)
    console.print(table)
    print(f"{len(failed)} of {table.row_count} rows failed, {time.monotonic() - begin:.0f} s")
    return int(bool(failed))


def _short(text):
    """Returns the first 120 characters of a text, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= 120 else f"{line[:117]}..."


if __name__ == "__main__":
    sys.exit(main())
