"""Runs in an S3 bucket: a whole state, whatever the store does."""

import json
import threading

import pytest
from object_store import damage, keys, on_machine, read, write

from zoo.storage import mirrors
from zoo.storage.checkpoints import find
from zoo.storage.mirrors import copy_back, open_folder

ADDRESS = "s3://runs/one"


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


def test_a_slow_store_does_not_hold_up_the_run(bucket, tmp_path, monkeypatch):
    """The state of the call is what arrives, whatever the run writes meanwhile, and others see the one before."""
    folder = open_folder(ADDRESS)
    write(folder, weights="a", log="a")
    copy_back(folder, wait=True)
    here, go_on = mirrors._active, threading.Event()
    put = here[folder]._system.put_file
    monkeypatch.setattr(here[folder]._system, "put_file", lambda *paths: go_on.wait(60) and put(*paths))
    for state in "bc":
        write(folder, weights=state, log=state)
        copy_back(folder)
    found = []
    for number, step in enumerate((None, here[folder]._thread.join, lambda: copy_back(folder, wait=True))):
        if step:
            go_on.set()
            step()
        on_machine(tmp_path / f"reader-{number}", monkeypatch)
        found.append(read(open_folder(ADDRESS, writes=False)))
        monkeypatch.setattr(mirrors, "_active", here)
    assert found == [{"weights": state, "log": state} for state in "abc"]


def test_a_short_object_is_not_taken_for_the_file(bucket, monkeypatch):
    folder = open_folder(ADDRESS)
    write(folder, weights="abc")
    system = mirrors._active[folder]._system
    monkeypatch.setattr(system, "put_file", lambda source, target: system.pipe_file(target, b"ab"))
    with pytest.raises(ValueError, match="has 2 bytes instead of 3"):
        copy_back(folder, wait=True)
    assert not [key for key in keys(bucket) if "generation" in key]


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
