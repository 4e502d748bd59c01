"""Runs the job of examples/clusters by a real Slurm on this machine: two nodes, made room for in three ways.

apt-get install slurm-wlm munge
python tests/long/slurm_checks.py --data .../translation/multi30k

Slurm's daemons run as the user that starts this, root or not, and end with it. The job is that of the example but for
the lines that `CHANGES` lists.
"""

import argparse
import contextlib
import os
import pathlib
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from worker_checks import ROOT, SETTINGS, free_ports, largest_difference, weights

PROGRAMS = "slurmctld", "slurmd", "munged", "sbatch", "srun", "scontrol", "scancel", "squeue"
CONFIGURATION = """
ClusterName=here
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
MpiDefault=none
ReturnToService=2
KillWait=60
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=n[0-1] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{ports[1]},{ports[2]}] CPUs=1
PartitionName=low Nodes=ALL Default=YES PriorityTier=1 GraceTime=60 State=UP
PartitionName=high Nodes=ALL PriorityTier=2 State=UP
"""
STATES = "PENDING", "RUNNING", "SIGNALING", "COMPLETING", "COMPLETED", "REQUEUED"  # That do not mean failure.
WAYS = ["a signal", "another job", "the time limit"]
CHANGES = {
    "--nodes=4": "--nodes=2",
    " --gpus-per-node=8": "",
    "--time=24:00:00": "--time={minutes}",
    'workers = [host + \\":2222\\" for host in os.environ[\\"HOSTS\\"].split()]': (
        'assert len(os.environ[\\"HOSTS\\"].split()) == 2; workers = [f\\"localhost:{{port}}\\" for port in {ports}]'
    ),
    "python3": "{python}",
    "--recipe big --data prepared --dev-data dev.tsv \\\n        --output runs/en-de": "{arguments} --output {output}",
}


@contextlib.contextmanager
def slurm(folder: pathlib.Path):
    """Starts Slurm with two nodes; yields a function that runs one of its commands."""
    (folder / "state").mkdir()
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o600)
    values = {
        "host": socket.gethostname().split(".")[0],
        "ports": free_ports(3),
        "user": os.environ.get("USER", "root"),
    }
    configuration = folder / "slurm.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder, **values))
    environment = {**os.environ, "SLURM_CONF": str(configuration)}

    def run(*command):
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True, cwd=folder).stdout

    munge = [f"--{name}={folder / file}" for name, file in (("key-file", "munge.key"), ("socket", "munge.socket"))]
    munge += [f"--{name}-file={folder / f'munged.{name}'}" for name in ("pid", "log", "seed")]
    daemons = [["munged", "--foreground", "--force", *munge], ["slurmctld", "-D", "-i"]]
    daemons += [["slurmd", "-D", "-N", name] for name in ("n0", "n1")]
    with contextlib.ExitStack() as ending:
        for daemon in daemons:
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            process = subprocess.Popen(daemon, env=environment, **quiet)
            ending.callback(process.wait)
            ending.callback(process.terminate)
            time.sleep(1)
        yield run


def job_text(folder: pathlib.Path, arguments: list[str], minutes: int) -> str:
    """Returns the script of the example with `CHANGES`."""
    text = (ROOT / "examples" / "clusters" / "slurm.sh").read_text()
    values = {
        "minutes": minutes,
        "ports": free_ports(2),
        "python": sys.executable,
        "arguments": " ".join(arguments),
        "output": folder / "run",
    }
    for old, new in CHANGES.items():
        assert old in text, f"the example has no {old!r} any more"
        text = text.replace(old, new.format(**values))
    return text


def wait_for(condition, seconds: float = 600):
    """Waits until a function returns something true, which is returned."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "waited too long"
        time.sleep(1)
    return found


class Job:
    """A job of the example; `evaluations` is the number of its evaluations."""

    def __init__(self, run, folder: pathlib.Path, arguments: list[str], minutes: int):
        self.run, self.folder, self.output = run, folder, folder / "out"
        script = folder / "job.sh"
        script.write_text(job_text(folder, arguments, minutes))
        text = run("sbatch", f"--output={self.output}", f"--chdir={ROOT}", str(script))
        self.number = re.search(r"\d+", text).group()

    @property
    def evaluations(self) -> int:
        log = self.folder / "run" / "training" / "log.jsonl"
        return len(log.read_text().splitlines()) if log.exists() else 0

    def ended(self) -> bool:
        shown = self.run("scontrol", "show", "job", self.number)
        state = re.search(r"JobState=(\w+)", shown).group(1)
        assert state in STATES, shown + self.output.read_text()
        return state == "COMPLETED"

    @property
    def turns(self) -> int:
        return 1 + int(re.search(r"Restarts=(\d+)", self.run("scontrol", "show", "job", self.number)).group(1))


def check(data: pathlib.Path, folder: pathlib.Path, ways: list[str], steps: int):
    sides = ("--source", "val", "en"), ("--target", "val", "de"), ("--dev-source", "val", "en")
    files = [
        item
        for name, part, language in (*sides, ("--dev-target", "val", "de"))
        for item in (name, str(data / "tok" / f"{part}.lc.norm.tok.{language}.gz"))
    ]
    given = SETTINGS | {"training.steps": steps, "training.evaluate_every": steps // 20}
    arguments = ["--recipe", "tiny", *files, *(f"--set {name}={value}" for name, value in given.items())]
    with slurm(folder) as run:
        wait_for(lambda: "idle" in run("sinfo", "--noheader", "--format=%D %T") and run("sinfo"), 60)
        results = {}
        for way in ("undisturbed", *ways):
            own = folder / way.replace(" ", "-")
            own.mkdir()
            job = Job(run, own, arguments, 4 if way == "the time limit" else 60)
            wait_for(lambda job=job: job.evaluations >= 3)
            if way == "a signal":
                run("scancel", "--signal=TERM", job.number)
            if way == "another job":
                other = run("sbatch", "--partition=high", "--nodes=2", "--output=/dev/null", "--wrap=sleep 20")
                print(f"    {other.strip()} in the partition that goes first")
            wait_for(job.ended, 1800)
            text = job.output.read_text()
            results[way] = weights(own / "run", steps)
            saved = re.findall(r"saved at step [\d,]+", text)
            print(f"{way}: {job.turns} turn(s); {', '.join(saved) or 'never stopped'}", flush=True)
            assert way == "undisturbed" or (job.turns >= 2 and saved), text
        for way, arrays in results.items():
            print(
                f"{way}: differs from undisturbed by at most {largest_difference(arrays, results['undisturbed']):.1e}"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = pathlib.Path(os.environ.get("KERAS_TRANSFORMER_DATA", "")) / "translation" / "multi30k"
    parser.add_argument("--data", type=pathlib.Path, default=default)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS, help="how the job is stopped; all by default")
    parser.add_argument(
        "--steps", type=int, default=400, help="updates; for the time limit, so many that four minutes are not enough"
    )
    options = parser.parse_args()
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing:
        raise SystemExit(
            f"error: Slurm is not installed: {', '.join(missing)} missing. apt-get install slurm-wlm munge"
        )
    folder = pathlib.Path(tempfile.mkdtemp(prefix="slurm-"))
    check(options.data, folder, options.ways, options.steps)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
