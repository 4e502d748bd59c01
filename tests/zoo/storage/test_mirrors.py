"""Runs in an S3 bucket: whole states whatever the store does, on a server of S3 on this machine."""

import json
import pathlib
import signal
import time

import numpy as np
import pytest

pytest.importorskip("moto")
pytest.importorskip("s3fs")

from mesh_checks import write_corpora
from object_store import damage, keys, object_store
from worker_checks import command, outcomes, start

import zoo
from zoo.storage import mirrors
from zoo.storage.checkpoints import CARD, find, read_checkpoint
from zoo.storage.mirrors import Mirror, copy_back, local_path, open_folder

ADDRESS = "s3://runs/one"


@pytest.fixture(scope="module")  # s3fs keeps a client for an address.
def server():
    with object_store() as client:
        yield client


@pytest.fixture
def bucket(server, tmp_path, monkeypatch):
    """An empty bucket "runs", and a machine without a cache; returns a client."""
    server.create_bucket(Bucket="runs")
    on_machine(tmp_path / "first", monkeypatch)
    monkeypatch.setattr(mirrors, "PAUSE", 0.0)
    yield server
    for key in keys(server):
        server.delete_object(Bucket="runs", Key=key)


def on_machine(cache, monkeypatch):
    """Goes on as a process on a machine with this cache."""
    monkeypatch.setenv("KERAS_TRANSFORMER_CACHE", str(cache))
    monkeypatch.setattr(mirrors, "_active", {})


def write(folder, **files):
    for name, text in files.items():
        (folder / name).write_text(text)


def read(folder):
    names = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.name: path.read_text() for path in names}


def test_another_machine_goes_on_with_the_newest_state(bucket, tmp_path, monkeypatch):
    folder = open_folder(ADDRESS)
    (folder / "training").mkdir()
    for state in "abc":
        write(folder, same="x", changed=state)
        write(folder / "training", only=state)
        if state == "c":
            (folder / "same").unlink()
        copy_back(folder, wait=True)
    on_machine(tmp_path / "second", monkeypatch)
    other = open_folder(ADDRESS)
    assert other != folder and read(other) == {"changed": "c", "only": "c"}
    write(other, changed="d")
    (other / "training" / "only").unlink()
    copy_back(other, wait=True)
    on_machine(tmp_path / "first", monkeypatch)
    assert read(open_folder(ADDRESS)) == {"changed": "d"}
    assert len([key for key in keys(bucket) if "/files/" in key]) == 2  # "c" and "d", of the two generations.


def test_content_that_comes_back_is_kept(bucket, tmp_path, monkeypatch):
    folder = open_folder(ADDRESS)
    for state in "aba":
        write(folder, weights=state)
        copy_back(folder, wait=True)
    on_machine(tmp_path / "second", monkeypatch)
    assert read(open_folder(ADDRESS)) == {"weights": "a"}


def test_an_altered_generation_is_left_for_the_older_one(bucket, tmp_path, monkeypatch):
    folder = open_folder(ADDRESS)
    for state in "ab":
        write(folder, weights=state)
        copy_back(folder, wait=True)
    newest = json.loads(bucket.get_object(Bucket="runs", Key="one/generation-0.json")["Body"].read())
    damage(bucket, f"one/files/{newest['files']['weights']['sha256']}")
    on_machine(tmp_path / "second", monkeypatch)
    with pytest.warns(UserWarning, match="generation 2 of s3://runs/one is damaged"):
        assert read(open_folder(ADDRESS)) == {"weights": "a"}
    on_machine(tmp_path / "third", monkeypatch)
    damage(bucket, "one/generation-0.json")
    with pytest.warns(UserWarning, match="generation-0.json is damaged"):
        other = open_folder(ADDRESS)
    assert read(other) == {"weights": "a"}
    write(other, weights="c")
    with pytest.warns(UserWarning, match="generation-0.json is damaged"):
        copy_back(other, wait=True)
    on_machine(tmp_path / "fourth", monkeypatch)
    assert read(open_folder(ADDRESS)) == {"weights": "c"}


def test_nothing_is_restored_if_all_generations_are_damaged(bucket, tmp_path, monkeypatch):
    folder = open_folder(ADDRESS)
    write(folder, weights="a")
    copy_back(folder, wait=True)
    (key,) = (key for key in keys(bucket) if "/files/" in key)
    damage(bucket, key)
    on_machine(tmp_path / "second", monkeypatch)
    with (
        pytest.warns(UserWarning),
        pytest.raises(ValueError, match="All copies of the run at s3://runs/one are damaged"),
    ):
        open_folder(ADDRESS)


@pytest.mark.parametrize("failing", range(12))
def test_a_connection_that_is_cut_anywhere_leaves_a_whole_state(bucket, tmp_path, monkeypatch, failing):
    """Each operation of the store in turn fails for good; the next copy then brings all."""
    folder = open_folder(ADDRESS)
    write(folder, weights="a", moments="a")
    copy_back(folder, wait=True)
    write(folder, weights="b", moments="b", log="b")
    with monkeypatch.context() as context:
        calls = cut(mirrors._active[folder], failing, context)
        try:
            copy_back(folder, wait=True)
            failed = False
        except ValueError as error:
            failed = True
            assert "could not be copied to s3://runs/one" in str(error) and str(folder) in str(error)
    assert failed == (calls[0] > failing)
    first = folder
    on_machine(tmp_path / "second", monkeypatch)
    expected = ({"weights": "a", "moments": "a"}, {"weights": "b", "moments": "b", "log": "b"})
    assert read(open_folder(ADDRESS)) in expected[not failed :]
    on_machine(tmp_path / "first", monkeypatch)  # The same command again.
    assert open_folder(ADDRESS) == first and not (first / ".mirror-pending").exists()
    on_machine(tmp_path / "third", monkeypatch)
    assert read(open_folder(ADDRESS)) == expected[1]


def cut(mirror, failing, context):
    """Makes all operations of a store fail after so many; returns a list with the number of calls."""
    calls, system = [0], mirror._system

    def failing_after(name):
        operation = getattr(system, name)

        def call(*arguments, **options):
            calls[0] += 1
            if calls[0] > failing:
                raise ConnectionResetError("connection reset by peer")
            return operation(*arguments, **options)

        return call

    for name in ("cat_file", "put_file", "pipe_file", "info"):
        context.setattr(system, name, failing_after(name))
    return calls


def test_single_failures_are_tried_again(bucket, tmp_path, monkeypatch):
    folder = open_folder(ADDRESS)
    write(folder, weights="a")
    system, failures = mirrors._active[folder]._system, iter([True, True, False] * 9)
    put = system.put_file

    def unreliable(*arguments):
        if next(failures):
            raise TimeoutError("too slow")
        put(*arguments)

    monkeypatch.setattr(system, "put_file", unreliable)
    copy_back(folder, wait=True)
    on_machine(tmp_path / "second", monkeypatch)
    assert read(open_folder(ADDRESS)) == {"weights": "a"}


def test_a_short_object_is_not_taken_for_the_file(bucket, monkeypatch):
    folder = open_folder(ADDRESS)
    write(folder, weights="abc")
    system = mirrors._active[folder]._system
    monkeypatch.setattr(system, "put_file", lambda source, target: system.pipe_file(target, b"ab"))
    with pytest.raises(ValueError, match="has 2 bytes instead of 3"):
        copy_back(folder, wait=True)
    assert not [key for key in keys(bucket) if "generation" in key]


def test_no_listing_is_needed(bucket, tmp_path, monkeypatch):
    """Stores may list what they hold late."""
    monkeypatch.setattr(type(Mirror(ADDRESS)._system), "_lsdir", None)
    monkeypatch.setattr(type(Mirror(ADDRESS)._system), "_find", None)
    folder = open_folder(ADDRESS)
    for state in "abc":
        write(folder, weights=state)
        copy_back(folder, wait=True)
    on_machine(tmp_path / "second", monkeypatch)
    assert read(open_folder(ADDRESS)) == {"weights": "c"}


def test_two_processes_at_one_address_are_found(bucket, tmp_path, monkeypatch):
    one = open_folder(ADDRESS)
    write(one, weights="a")
    copy_back(one, wait=True)
    first = mirrors._active
    on_machine(tmp_path / "second", monkeypatch)
    other = open_folder(ADDRESS)
    write(other, weights="b")
    copy_back(other, wait=True)
    monkeypatch.setattr(mirrors, "_active", first)
    with pytest.raises(ValueError, match="Another process trains into s3://runs/one: it holds generation 2, not 1"):
        copy_back(one, wait=True)
        copy_back(one, wait=True)
    on_machine(tmp_path / "third", monkeypatch)
    assert read(open_folder(ADDRESS)) == {"weights": "b"}


@pytest.mark.parametrize("name", ["../outside", "/outside", "a/../../outside", ".mirror.json"])
def test_names_outside_of_the_folder_are_refused(bucket, name):
    described = {name: {"sha256": "0" * 64, "bytes": 1}}
    content = mirrors._sealed({"number": 1, "files": described})
    bucket.put_object(Bucket="runs", Key="one/generation-1.json", Body=content)
    with pytest.warns(UserWarning, match="outside of the folder"), pytest.raises(ValueError, match="are damaged"):
        open_folder(ADDRESS)


def test_a_store_that_cannot_be_reached_is_told(bucket):
    with pytest.raises(ValueError, match="s3://none/one cannot be reached: .*Check the address and your credentials"):
        open_folder("s3://none/one")
    with pytest.raises(ValueError, match="neither the name of a checkpoint nor a folder"):
        find("s3://runs/none")


def test_a_file_system_with_folders(tmp_path, monkeypatch):
    address = (tmp_path / "shared" / "run").as_uri()
    for number in range(3):
        on_machine(tmp_path / f"machine-{number}", monkeypatch)
        folder = open_folder(address)
        assert read(folder) == ({"weights": str(number - 1)} if number else {})
        write(folder, weights=str(number))
        copy_back(folder, wait=True)


def test_a_run_at_a_file_address_is_found(tmp_path, monkeypatch):
    """`file://` is the address of a checkpoint, too, which is read without a copy."""
    address = (tmp_path / "shared" / "run").as_uri()
    on_machine(tmp_path / "first", monkeypatch)
    folder = open_folder(address)
    (folder / "checkpoint").mkdir()
    (folder / "checkpoint" / CARD).write_text("{}")
    copy_back(folder, wait=True)
    on_machine(tmp_path / "second", monkeypatch)
    assert find(address) == local_path(address) / "checkpoint"
    with pytest.raises(ValueError, match="card.json"):
        find((tmp_path / "shared").as_uri())


def test_folders_of_this_machine_are_themselves(tmp_path):
    assert open_folder(tmp_path) == local_path(str(tmp_path)) == tmp_path
    copy_back(pathlib.Path(tmp_path), wait=True)
    assert not np.any([*tmp_path.iterdir()])


@pytest.mark.slow
def test_a_run_goes_on_from_its_bucket_on_another_machine(bucket, tmp_path, monkeypatch):
    """Stopped in the middle, it ends on a machine without any file of it, with the weights of a run that was not."""
    corpora = write_corpora(tmp_path)
    longer = ["--set", "training.steps=60"]
    local, there = (
        [*command(corpora, output, 5, workers=1), *longer] for output in (tmp_path / "local", "s3://runs/run")
    )
    (process,) = start(there, "tensorflow", 1, KERAS_TRANSFORMER_CACHE=str(tmp_path / "first"))
    end = time.monotonic() + 300
    while "run/generation-0.json" not in keys(bucket) and time.monotonic() < end and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    ((status, text),) = outcomes([process])
    assert status == 143 and "SIGTERM: saved at step" in text, text
    for arguments, cache in ((there, "second"), (local, "none")):
        ((status, text),) = outcomes(start(arguments, "tensorflow", 1, KERAS_TRANSFORMER_CACHE=str(tmp_path / cache)))
        assert status == 0, text
    on_machine(tmp_path / "third", monkeypatch)
    translator, same = zoo.load("s3://runs/run"), read_checkpoint(tmp_path / "local" / "checkpoint")
    found = read_checkpoint(local_path("s3://runs/run") / "checkpoint")
    assert found.card["scores"] == same.card["scores"]
    for name, array in same.arrays.items():
        np.testing.assert_array_equal(found.arrays[name], array)
    assert len(translator.translate(["a b c"])) == 1
