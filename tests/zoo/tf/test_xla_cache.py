"""Tests of the cache of compiled programs: shared, whole files only, of limited size, and used by TensorFlow."""

import os
import platform
import shutil
import subprocess
import sys

import pytest

from zoo.storage.downloads import program_cache_megabytes
from zoo.tf.xla_cache import XlaCache

PROGRAM = """
import tensorflow as tf
import zoo
from zoo.tf import xla_cache
from zoo.tf.graphs import graph_function
zoo.load("labelling/masc-pos-small")  # TensorFlow reads its flags at the first operation.
function = graph_function(lambda x: tf.linalg.matmul(x, x) + 1.0, jit_compile=True)
found = function(tf.ones((3, 3)))
cache = xla_cache.persistent_cache()
print(float(found[0, 0]), 0 if cache is None else len([*cache.folder.iterdir()]))
"""


def opened(folder, **options):
    return XlaCache(folder / "shared", **options).fill()


def put(cache, name, content):
    (cache.folder / name).write_bytes(content)
    cache.publish(age=0.0)


def names(cache):
    return sorted(path.name for path in cache.folder.iterdir())


def test_files_are_shared_with_later_processes(tmp_path):
    first = opened(tmp_path)
    put(first, "a.pb", b"one")
    second = opened(tmp_path)
    assert names(second) == ["a.pb"] and (second.folder / "a.pb").read_bytes() == b"one"
    put(second, "b.pb", b"two")
    assert names(first) == ["a.pb"], "folders of running processes do not change"
    second.close()
    assert not second.folder.exists() and names(opened(tmp_path)) == ["a.pb", "b.pb"]


def test_incomplete_files_are_left_out(tmp_path):
    first = opened(tmp_path)
    put(first, "a.pb", b"one")
    (first.folder / "b.pb").write_bytes(b"killed before it was publ")
    [path] = (tmp_path / "shared").iterdir()
    assert names(opened(tmp_path)) == ["a.pb"]
    path.unlink()
    path.write_bytes(b"altered")
    assert names(opened(tmp_path)) == [] and not path.exists()


def test_oldest_files_are_deleted_beyond_the_size(tmp_path):
    cache = opened(tmp_path)
    for age, name in enumerate(["new", "middle", "old"]):
        put(cache, name, name.encode() + bytes(400_000))
        for path in (tmp_path / "shared").glob(f"{name}.*"):
            os.utime(path, (1e9 - age, 1e9 - age))
    assert names(opened(tmp_path, megabytes=0.9)) == ["middle", "new"]


def test_folders_of_killed_processes_are_deleted(tmp_path):
    running = opened(tmp_path)
    os.utime(running.folder, (1e9, 1e9))
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    killed = tmp_path / f"process-{platform.node()}-{ended.pid}-abc"
    elsewhere = [tmp_path / "process-another-machine-1-abc", tmp_path / "process-another-2-abc"]
    for folder in (killed, *elsewhere):
        folder.mkdir()
    os.utime(elsewhere[1], (1e9, 1e9))
    opened(tmp_path)
    assert not killed.exists() and running.folder.exists(), "however long it runs"
    assert elsewhere[0].exists() and not elsewhere[1].exists(), "after a month"


def test_a_folder_that_somebody_deletes_is_no_error(tmp_path):
    cache = opened(tmp_path)
    shutil.rmtree(cache.folder)
    cache.publish()
    cache.close()


def test_a_forked_process_leaves_the_folder(tmp_path, monkeypatch):
    cache = opened(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        cache.close()
    assert cache.folder.exists()


def run(folder, **environment):
    settings = {"KERAS_TRANSFORMER_CACHE": str(folder), "KERAS_TRANSFORMER_XLA_CACHE": "", "TF_XLA_FLAGS": ""}
    environment = {**os.environ, **settings, **environment}
    result = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()[-1]


def test_files_that_may_be_incomplete_wait(tmp_path):
    cache = opened(tmp_path)
    (cache.folder / "a.pb").write_bytes(b"one")
    cache.publish()
    assert names(opened(tmp_path)) == []
    os.utime(cache.folder / "a.pb", (1e9, 1e9))
    cache.publish()
    assert names(opened(tmp_path)) == ["a.pb"]


@pytest.mark.slow
@pytest.mark.long
def test_tensorflow_uses_it(tmp_path):
    assert run(tmp_path) == "4.0 1"
    [path] = tmp_path.glob("xla/*/*.pb.*")
    before = path.stat().st_mtime_ns
    assert run(tmp_path) == "4.0 1"
    assert [*tmp_path.glob("xla/*/*.pb.*")] == [path] and path.stat().st_mtime_ns == before
    path.write_bytes(path.read_bytes()[:1000])
    assert run(tmp_path) == "4.0 1", "TensorFlow itself fails at such a file"
    assert not [*tmp_path.glob("xla/process-*")]


@pytest.mark.slow
@pytest.mark.long
def test_child_processes_have_folders_of_their_own(tmp_path):
    """They inherit the flag, but not the folder of the process that began them."""
    parent = tmp_path / "xla" / f"process-{platform.node()}-1-abc"
    parent.mkdir(parents=True)
    assert run(tmp_path, TF_XLA_FLAGS=f"--tf_xla_persistent_cache_directory={parent}") == "4.0 1"
    assert not [*parent.iterdir()] and len([*tmp_path.glob("xla/*/*.pb.*")]) == 1
    assert run(tmp_path, TF_XLA_FLAGS=f"--tf_xla_persistent_cache_directory={tmp_path / 'own'}") == "4.0 0"
    assert len([*(tmp_path / "own").iterdir()]) == 1


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("environment", [{"KERAS_TRANSFORMER_XLA_CACHE": "0"}, {"folder": "/proc/no"}])
def test_it_can_be_off(environment, tmp_path):
    assert run(**{"folder": tmp_path, **environment}) == "4.0 0"
    assert not [*tmp_path.iterdir()]


def test_a_size_that_is_no_number_is_refused(monkeypatch):
    monkeypatch.setenv("KERAS_TRANSFORMER_XLA_CACHE", "much")
    with pytest.raises(ValueError, match="must be a size in megabytes, 0 for no cache. Received: 'much'"):
        program_cache_megabytes()
