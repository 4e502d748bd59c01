"""Runs in an S3 bucket, on a server of S3 on this machine, and on file systems: other machines go on with them."""

import pathlib
import signal
import time

import numpy as np
import pytest
from mesh_checks import write_corpora
from object_store import keys, on_machine, read, write
from worker_checks import command, outcomes, start

import zoo
from zoo.storage.checkpoints import CARD, find, read_checkpoint
from zoo.storage.mirrors import Mirror, copy_back, local_path, open_folder

ADDRESS = "s3://runs/one"


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
@pytest.mark.long
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
