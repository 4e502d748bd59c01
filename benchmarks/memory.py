"""Peak memory of training and decoding beside that of the peers.

    python benchmarks/memory.py --bench BENCH --venvs VENVS

Runs the worker of the bench for one system and item at a time: built, traced, called a few times. Peak is the most that
was resident of the whole process (VmHWM), libraries, tracing and all; "before" what it held when the model was built.
"""

import argparse
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys

from peers import HERE, variants

ITEMS = {"T1": "T1", "T2": "T2", "D1": "D1.beam4.b32", "D2": "D2.beam4.b32"}
SYSTEMS = "ours,ours_xla,ours_bf16,keras,kerashub,kerashub_xla,model_garden,torch,hf_marian,ct2_f32"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", required=True, help="folder with the run.py of the bench")
    parser.add_argument("--venvs", required=True, help="folder of its virtual environments")
    parser.add_argument("--systems", default=SYSTEMS, help="names or patterns, separated by commas")
    parser.add_argument("--groups", nargs="+", choices=ITEMS, default=[*ITEMS], help="of the bench")
    options = parser.parse_args()
    bench = pathlib.Path(options.bench).resolve()
    sys.path.insert(0, str(bench))
    import workload

    systems = json.loads((bench / "systems.json").read_text()) | variants("ours", HERE.parent)
    names = [name for name in systems if any(fnmatch.fnmatch(name, p) for p in options.systems.split(","))]
    print(f"{'item':14}{'system':16}{'before':>8}{'peak':>8}  MiB")
    for group in options.groups:
        item = ITEMS[group]
        size, part, items = workload.GROUPS[group]
        for name in names:
            figures = measure(bench, pathlib.Path(options.venvs), systems[name], size, part, items[item])
            if figures:
                print(f"{item:14}{name:16}{figures[0]:8.0f}{figures[1]:8.0f}", flush=True)


def measure(bench, venvs, spec, size, part, item):
    """Resident MiB after the model was built, and the peak after some calls; None if the system cannot do the item."""
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "BENCH_THREADS": "2", **spec.get("env", {})}
    command = [str(venvs / spec["venv"] / "bin" / "python"), str(bench / "worker.py"), json.dumps(spec)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, cwd=bench, env=environment, **pipes) as worker:

        def ask(**message):
            print(json.dumps(message), file=worker.stdin, flush=True)
            return json.loads(worker.stdout.readline() or '{"error": "it ended"}')

        worker.stdout.readline()
        if ask(cmd="build", size=size, part=part).keys() & {"error", "missing"}:
            worker.kill()
            return None
        before = resident(worker.pid, "VmRSS")
        if ask(cmd="warm", item=item, seconds=2).keys() & {"error", "missing"}:
            worker.kill()
            return None
        figures = before, resident(worker.pid, "VmHWM")
        worker.stdin.close()
        return figures


def resident(pid, field):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+) kB", status).group(1)) / 1024


if __name__ == "__main__":
    main()
