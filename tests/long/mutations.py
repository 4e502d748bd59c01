"""Plants faults in a copy of the sources one by one, and reports those that no test notices.

Takes minutes for a folder and about half an hour for all; run it in the background, in any folder:

    mkdir -p build && nohup nice python tests/long/mutations.py > build/mutations.txt 2>&1 &
    python tests/long/mutations.py keras_transformer/decoding zoo/config.py
    python tests/long/mutations.py --only-survivors

The tests of all faults run without a fault first and must pass. Outcomes are kept in the file of `--results`: the same
command, given again, continues after an interruption, and `--fresh` begins anew. The status is 1 if fewer than 95 % of
the faults are found. Only files that git tracks are copied, as they are in the working tree.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import rich.console
import rich.table
from faults import Fault
from faults_detection import DETECTION
from faults_images import IMAGES
from faults_language import LANGUAGE
from faults_library import LIBRARY
from faults_parallel import PARALLEL
from faults_pictures import PICTURES
from faults_preparation import PREPARATION
from faults_reports import REPORTS
from faults_robust import ROBUST
from faults_running import RUNNING
from faults_speech import SPEECH
from faults_tasks import TASKS
from faults_web import WEB
from faults_zoo import ZOO

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAULTS = [
    *LANGUAGE,
    *LIBRARY,
    *PARALLEL,
    *ZOO,
    *TASKS,
    *PICTURES,
    *PREPARATION,
    *REPORTS,
    *ROBUST,
    *RUNNING,
    *IMAGES,
    *DETECTION,
    *SPEECH,
    *WEB,
]
SHARE = 0.95  # Of the faults that must be found.
_PASSED, _FAILED, _INTERRUPTED = range(3)  # Statuses of pytest; the last one after an error of an import.


class UnfitTestsError(Exception):
    """Raised if the tests of a fault cannot tell whether it is found: they fail without it, or there are none."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Whether the tests found a fault, after how many seconds, and the test that did."""

    found: bool
    seconds: float
    by: str = ""


class Copy:
    """A copy of the files that git tracks, in which faults are planted and tests run."""

    def __init__(self, folder: pathlib.Path):
        self.folder, self._process = folder, None
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
        for name in listed.decode().split("\0")[:-1]:
            if (ROOT / name).is_file():
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, target)

    def run(self, targets: list[str], slow: bool, limit: float | None, *options: str) -> tuple[int | None, str]:
        """Runs tests; returns the status of pytest, None at the time limit, and what it prints."""
        selection = [] if slow else ["-m", "not slow"]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, *selection, *targets]
        path = os.pathsep.join(str(self.folder / part) for part in ("", "tests", "tests/long"))
        self._process = process = subprocess.Popen(
            command,
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # So that the processes that tests start end with it.
        )
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            self.stop()
        return process.returncode, output.decode("utf-8", "replace")

    def stop(self) -> None:
        """Ends the tests that run, and all processes that they have started."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def check(self, faults: list[Fault]) -> None:
        """Raises `UnfitTestsError` unless the tests of all faults pass without them."""
        for slow in (False, True):
            targets = sorted({target for fault in faults if fault.slow == slow for target in fault.targets})
            if targets:
                status, output = self.run(targets, slow, None)
                if status != _PASSED:
                    raise UnfitTestsError(f"without any fault, tests fail (status {status}):\n{output[-3000:]}")

    def plant(self, fault: Fault, limit: float) -> Outcome:
        """Plants a fault, runs its tests and takes it out again."""
        path, begin = self.folder / fault.file, time.perf_counter()
        original = path.read_text("utf-8")
        _write(path, original.replace(fault.before, fault.after))
        try:
            status, output = self.run(fault.targets, fault.slow, limit, "-x")
        finally:
            _write(path, original)
        seconds = time.perf_counter() - begin
        if status is None:
            return Outcome(True, seconds, f"no end within {limit:.0f} s")
        if status > _INTERRUPTED:
            raise UnfitTestsError(f"{fault}: pytest ends with status {status}:\n{output[-3000:]}")
        failures = [line.split(" - ")[0] for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return Outcome(status != _PASSED, seconds, *failures[:1])


def _write(path, text):
    """Writes a source without its compiled form, which Python takes for current if size and second are the same."""
    path.write_text(text, "utf-8")
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
        compiled.unlink()


def check_faults(faults: list[Fault]) -> list[str]:
    """Returns what is wrong with faults: text that does not occur once, or tests that do not exist."""
    wrong = []
    for fault in faults:
        path = ROOT / fault.file
        count = path.read_text("utf-8").count(fault.before) if path.exists() else 0
        if count != 1:
            wrong.append(f"{fault}: occurs {count} times")
        wrong += [f"{fault}: no {target}" for target in fault.targets if not (ROOT / target.split("::")[0]).exists()]
    return wrong


def key(fault: Fault) -> str:
    """Returns a name for a fault in the file of results, another one if the fault changes."""
    return hashlib.sha256(repr(dataclasses.astuple(fault)).encode()).hexdigest()[:16]


def selected(names: list[str]) -> list[Fault]:
    """Returns the faults in some folders or files; all if none are given."""
    paths = [pathlib.PurePath(os.path.relpath(name, ROOT) if os.path.exists(name) else name) for name in names]
    return [
        fault
        for fault in FAULTS
        if not paths or any(pathlib.PurePath(fault.file).is_relative_to(path) for path in paths)
    ]


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", nargs="*", metavar="PLACE", help="folders or files; all by default")
    parser.add_argument("--only-survivors", action="store_true", help="run those again that survived")
    parser.add_argument("--fresh", action="store_true", help="forget all earlier outcomes")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="plant each N-th fault only")
    parser.add_argument("--jobs", type=int, default=1, help="faults that are planted at a time, in copies of their own")
    parser.add_argument("--limit", type=float, default=600, help="seconds for the tests of a fault; a hang is found")
    parser.add_argument("--no-baseline", action="store_true", help="do not run the tests without a fault first")
    text = "file of the outcomes so far; build/mutations.json by default"
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "build" / "mutations.json", help=text)
    return parser.parse_args(arguments)


def plant_all(faults: list[Fault], options: argparse.Namespace, keep: Callable[[Fault, Outcome], None]) -> None:
    """Plants all faults, after a run of their tests without any; `keep` is called with each outcome."""
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        copies = [Copy(pathlib.Path(folder, str(number))) for number in range(min(options.jobs, len(faults)))]
        free = queue.SimpleQueue()
        for copy in copies:
            free.put(copy)

        def plant(fault):
            copy = free.get()
            try:
                return copy.plant(fault, options.limit)
            finally:
                free.put(copy)

        if faults and not options.no_baseline:
            copies[0].check(faults)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            work = {pool.submit(plant, fault): fault for fault in faults}
            try:
                for done in concurrent.futures.as_completed(work):
                    keep(work[done], done.result())
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for copy in copies:
                    copy.stop()
                raise


def show(faults: list[Fault], outcomes: dict[str, Outcome]) -> int:
    """Prints a table by folder and the survivors; returns the exit status."""
    planted = collections.Counter(fault.folder for fault in faults)
    found = collections.Counter(fault.folder for fault in faults if outcomes[key(fault)].found)
    table = rich.table.Table("folder", *(rich.table.Column(name, justify="right") for name in ("planted", "found")))
    for folder, count in planted.items():
        table.add_row(folder, str(count), str(found[folder]))
    table.add_section()
    table.add_row("all", str(planted.total()), str(found.total()))
    rich.console.Console().print(table)
    for fault in faults:
        if not outcomes[key(fault)].found:
            print(f"SURVIVED  {fault}")
    return int(found.total() < SHARE * len(faults))


def main() -> int:
    options = parse_arguments()
    faults = selected(options.places)[:: options.every]
    wrong = check_faults(FAULTS) if faults else [f"no fault in {', '.join(options.places)}"]
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        return 2
    kept = {}
    if options.results.exists() and not options.fresh:
        kept = json.loads(options.results.read_text("utf-8"))
    outcomes = {name: Outcome(**values) for name, values in kept.items()}
    if options.only_survivors:
        faults = [fault for fault in faults if key(fault) in outcomes and not outcomes[key(fault)].found]
        for fault in faults:
            del outcomes[key(fault)]

    def keep(fault, outcome):
        outcomes[key(fault)] = outcome
        write_results(options.results, outcomes)
        print(f"{'found   ' if outcome.found else 'SURVIVED'} {outcome.seconds:4.0f} s  {fault}", flush=True)

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        plant_all([fault for fault in faults if key(fault) not in outcomes], options, keep)
    except UnfitTestsError as error:
        print(error, file=sys.stderr)
        return 2
    return show(faults, outcomes)


def write_results(path: pathlib.Path, outcomes: dict[str, Outcome]) -> None:
    """Writes the outcomes to a file, never in part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps({name: dataclasses.asdict(outcome) for name, outcome in outcomes.items()}), "utf-8")
    os.replace(part, path)


if __name__ == "__main__":
    sys.exit(main())
