"""The examples for clusters: valid, and each worker gets the cluster that the training reads. No cluster runs here."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parent.parent / "examples" / "clusters"
HOSTS = [f"train-{i}.train:2222" for i in range(4)]


def run_worker(code, folder, **environment):
    """Runs the commands of a worker, with a `python3` that prints the cluster in place of the training."""
    (folder / "python3").write_text(
        f'#!/bin/sh\nif [ "$1" = -m ]; then echo "$TF_CONFIG"; echo "$@"; exit 143; fi\nexec "{sys.executable}" "$@"\n'
    )
    (folder / "scontrol").write_text('#!/bin/sh\n[ "$1" = show ] && printf "a\\nb\\n" || echo "$@"\n')
    (folder / "srun").write_text('#!/bin/sh\nshift\nexec "$@"\n')
    for name in ("python3", "scontrol", "srun"):
        (folder / name).chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-c", code], env={**os.environ, "PATH": path, **environment}, capture_output=True, text=True
    )


def assert_cluster(result, workers, index, monkeypatch):
    from zoo.distribution.cluster import read_cluster
    from zoo.translation.__main__ import COMMANDS

    config, command, *others = result.stdout.splitlines()
    monkeypatch.setenv("TF_CONFIG", config)
    assert read_cluster() == (workers, index)
    arguments = command.split()
    assert arguments[:2] == ["-m", "zoo.translation"]
    assert COMMANDS.parser().parse_args(arguments[2:]).strategy == "workers"
    return others


def test_the_manifests_are_valid_and_name_the_workers(tmp_path, monkeypatch):
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    documents = [*yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text())]
    for document in documents:
        validate.validate(document, "1.31", strict=True)
    service, job = documents
    template = job["spec"]["template"]["spec"]
    (worker,) = template["containers"]
    assert service["metadata"]["name"] == template["subdomain"] == job["metadata"]["name"]
    assert job["spec"]["completions"] == job["spec"]["parallelism"] == len(HOSTS)
    assert {mount["name"] for mount in worker["volumeMounts"]} == {volume["name"] for volume in template["volumes"]}
    result = run_worker(worker["args"][0], tmp_path, JOB_COMPLETION_INDEX="2")
    assert result.returncode in job["spec"]["podFailurePolicy"]["rules"][0]["onExitCodes"]["values"]
    assert_cluster(result, HOSTS, 2, monkeypatch)


def test_the_slurm_job_is_valid_and_waits_for_its_next_turn(tmp_path, monkeypatch):
    linter = shutil.which("shellcheck", path=pathlib.Path(sys.executable).parent) or shutil.which("shellcheck")
    if linter is None:
        pytest.skip("shellcheck is not installed")
    path = FOLDER / "slurm.sh"
    checked = subprocess.run([linter, path], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
    result = run_worker(path.read_text(), tmp_path, SLURM_JOB_NODELIST="x", SLURM_PROCID="1", SLURM_JOB_ID="7")
    assert result.returncode == 143
    assert assert_cluster(result, ["a:2222", "b:2222"], 1, monkeypatch) == ["requeue 7"]
