"""Checkpoint folders: reading inverts writing, and damage is detected."""

import errno
import hashlib
import json
import os
import pathlib

import numpy as np
import pytest

import zoo
from zoo.storage import arrays, checkpoints
from zoo.storage.checkpoints import Checkpoint, find, read_card, read_checkpoint, write_checkpoint

FILES = ["card.json", "config.json", "model.safetensors", "vocabulary.model"]


@pytest.fixture
def checkpoint():
    rng = np.random.default_rng(0)
    arrays = {
        "table": rng.normal(size=(7, 3)).astype("float32"),
        "turned": rng.normal(size=(3, 5)).astype("float32").T,
        "bias": np.array([0.0, -0.0, 1e-7, 3.0], "float32"),
    }
    card = {"task": "translation", "name": "Müll & Söhne", "scores": []}
    return Checkpoint(card, {"hidden_dim": 3}, arrays, b"\x00vocabulary\xff", {"labels": ["ä", "b"]})


@pytest.fixture
def folder(tmp_path, checkpoint):
    write_checkpoint(tmp_path / "checkpoint", checkpoint)
    return tmp_path / "checkpoint"


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_reading_inverts_writing_bit_for_bit(tmp_path, checkpoint):
    card = write_checkpoint(tmp_path / "new" / "checkpoint", checkpoint)
    found = read_checkpoint(tmp_path / "new" / "checkpoint")
    hashes = {name: card[name] for name in ("files", "card_sha256")}
    assert found.card == card == {**checkpoint.card, "format": 2, "parameters": 40, **hashes}
    assert found.config == checkpoint.config and found.vocabulary == checkpoint.vocabulary
    assert found.settings == checkpoint.settings
    assert found.arrays.keys() == checkpoint.arrays.keys()
    for name, array in checkpoint.arrays.items():
        assert found.arrays[name].dtype == np.float32
        assert found.arrays[name].tobytes() == array.tobytes()
    assert os.listdir(tmp_path) == ["new"] and os.listdir(tmp_path / "new") == ["checkpoint"]


def test_values_too_large_for_half_precision_are_refused(tmp_path, checkpoint):
    checkpoint.arrays["table"][3, 1] = -66000.0
    with pytest.raises(ValueError, match="'table' has values beyond those of float16. Save it with dtype='float32'"):
        write_checkpoint(tmp_path / "half", checkpoint, dtype="float16")
    assert not any(tmp_path.iterdir())
    write_checkpoint(tmp_path / "whole", checkpoint)


def test_half_precision_is_loaded_as_float32(tmp_path, checkpoint):
    write_checkpoint(tmp_path / "whole", checkpoint)
    write_checkpoint(tmp_path / "half", checkpoint, dtype="float16")
    sizes = [(tmp_path / kind / "model.safetensors").stat().st_size for kind in ("whole", "half")]
    assert sizes[0] - sizes[1] >= 2 * 40 - 8
    for name, array in read_checkpoint(tmp_path / "half").arrays.items():
        assert array.dtype == np.float32
        np.testing.assert_allclose(array, checkpoint.arrays[name], rtol=2**-11, atol=2**-25)


def test_the_card_has_the_hash_of_each_other_file(folder):
    files = contents(folder)
    assert sorted(files) == FILES
    assert json.loads(files.pop("card.json"))["files"] == {
        name: hashlib.sha256(content).hexdigest() for name, content in files.items()
    }


@pytest.mark.parametrize("kind", ["checkpoint", "empty folder", "file"])
def test_nothing_is_overwritten(tmp_path, checkpoint, kind):
    target = tmp_path / "target"
    if kind == "checkpoint":
        write_checkpoint(target, Checkpoint({"task": "other"}, {}, {}, b""))
    elif kind == "file":
        target.write_bytes(b"mine")
    else:
        target.mkdir()
    before = contents(target) if target.is_dir() else target.read_bytes()
    with pytest.raises(ValueError, match="target exists already, and nothing is overwritten"):
        write_checkpoint(target, checkpoint)
    assert before == (contents(target) if target.is_dir() else target.read_bytes())
    assert os.listdir(tmp_path) == ["target"]


def test_a_link_that_leads_nowhere_is_not_replaced(tmp_path, checkpoint):
    target = tmp_path / "target"
    target.symlink_to(tmp_path / "missing")
    with pytest.raises(ValueError, match="target exists already, and nothing is overwritten"):
        write_checkpoint(target, checkpoint)
    assert os.readlink(target) == str(tmp_path / "missing") and os.listdir(tmp_path) == ["target"]


def test_links_to_folders_and_files_are_read(tmp_path, folder, checkpoint):
    """Caches of other packages hold files as links; folders of results are often links to larger disks."""
    (tmp_path / "link").symlink_to(folder, target_is_directory=True)
    (tmp_path / "cache").mkdir()
    for name in FILES:
        (tmp_path / "cache" / name).symlink_to(folder / name)
    for place in (tmp_path / "link", tmp_path / "cache"):
        assert read_checkpoint(place).vocabulary == checkpoint.vocabulary
    write_checkpoint(tmp_path / "link" / "inside", checkpoint)
    assert contents(folder / "inside") == {name: (folder / name).read_bytes() for name in FILES}


def test_a_changed_card_replaces_a_link_and_not_its_target(tmp_path, folder):
    original = (folder / "card.json").read_bytes()
    (tmp_path / "card").write_bytes(original)
    (folder / "card.json").unlink()
    (folder / "card.json").symlink_to(tmp_path / "card")
    checkpoints.write_card(folder, {**read_card(folder), "name": "other"})
    assert read_card(folder)["name"] == "other" and (tmp_path / "card").read_bytes() == original


@pytest.mark.parametrize("call", ["mkdir", "open"])
def test_a_read_only_folder_is_named(tmp_path, checkpoint, monkeypatch, call):
    """Also if the system allows the folder and refuses the files; nothing is left."""
    real = os.mkdir if call == "mkdir" else open

    def refuse(path, *arguments, **options):
        if str(path).startswith(str(tmp_path / "disk")):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return real(path, *arguments, **options)

    (tmp_path / "disk").mkdir()
    if call == "mkdir":
        monkeypatch.setattr(os, "mkdir", refuse)
    else:
        monkeypatch.setattr(arrays, "open", refuse, raising=False)
    with pytest.raises(OSError, match="disk/new could not be written|disk/new.*part/.* could not be written") as caught:
        write_checkpoint(tmp_path / "disk" / "new", checkpoint)
    assert caught.value.errno == errno.EROFS and "Read-only file system" in str(caught.value)
    assert os.listdir(tmp_path / "disk") == []


@pytest.mark.parametrize(("call", "at"), [("fsync", 1), ("fsync", 3), ("fsync", 4), ("rename", 1)])
def test_an_interrupted_write_leaves_nothing(tmp_path, checkpoint, monkeypatch, call, at):
    real, count = getattr(os, call), 0

    def fail(*args):
        nonlocal count
        count += 1
        if count == at:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(KeyboardInterrupt):
        write_checkpoint(tmp_path / "checkpoint", checkpoint)
    assert os.listdir(tmp_path) == []
    monkeypatch.undo()
    write_checkpoint(tmp_path / "checkpoint", checkpoint)


@pytest.mark.parametrize("name", FILES[1:])
@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (pathlib.Path.unlink, "cannot be read"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "does not match its hash in card.json"),
        (lambda path: path.write_bytes(b""), r"\(0 bytes\)"),
        (
            lambda path: path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:]),
            "does not match its hash",
        ),
    ],
    ids=["missing", "truncated", "empty", "one bit"],
)
def test_damaged_files_are_named(folder, name, harm, message):
    harm(folder / name)
    with pytest.raises(ValueError, match=f"{name} .*{message}|{name} {message}"):
        zoo.load(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "neither the name of a checkpoint nor a folder with a card.json"),
        (b'{"task": "translation", "fi', "card.json is not JSON"),
        (b"\xff\xfe", "card.json is not JSON"),
        (b"[]", "card.json must be an object with `task` and `files`"),
        (b'{"task": "translation"}', "must be an object with `task` and `files`"),
        (b'{"task": "translation", "files": []}', "must be an object with `task` and `files`"),
        (b'{"task": "translation", "files": {}}', "card.json must name config.json, model.safetensors and vocabulary"),
    ],
)
def test_damaged_cards_are_named(folder, content, message):
    if content is None:
        (folder / "card.json").unlink()
    else:
        (folder / "card.json").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        zoo.load(folder)


def test_a_missing_card_is_named(tmp_path):
    with pytest.raises(ValueError, match="card.json cannot be read"):
        read_card(tmp_path)


def test_unknown_tasks_raise(tmp_path):
    write_checkpoint(tmp_path / "other", Checkpoint({"task": "juggling"}, {}, {}, b""))
    with pytest.raises(ValueError, match="must be one of .*translation, encoder. Received: 'juggling'"):
        zoo.load(tmp_path / "other")


@pytest.fixture
def shipped(tmp_path, checkpoint, monkeypatch):
    """Two checkpoints in place of the shipped ones."""
    monkeypatch.setattr(checkpoints, "WEIGHTS_FOLDER", tmp_path / "weights")
    for name in ("translation/b", "translation/a"):
        write_checkpoint(tmp_path / "weights" / name, checkpoint)
    (tmp_path / "weights" / "translation" / "unfinished").mkdir()
    return tmp_path / "weights"


def test_the_list_has_names_sizes_and_cards(shipped):
    cards = zoo.list()
    assert [card["name"] for card in cards] == ["translation/a", "translation/b"]
    assert all(card["task"] == "translation" and card["parameters"] == 40 for card in cards)
    size = sum(path.stat().st_size for path in (shipped / "translation" / "a").iterdir())
    assert cards[0]["megabytes"] == round(size / 1e6, 1)


def test_names_and_folders_are_found(shipped):
    assert find("translation/a") == shipped / "translation" / "a"
    assert find(shipped / "translation" / "b") == shipped / "translation" / "b"


@pytest.mark.parametrize("name", ["translation/c", "a", "", "no\x00name"])
def test_wrong_names_list_the_known_ones(shipped, name):
    with pytest.raises(ValueError, match="Known names: translation/a, translation/b"):
        zoo.load(name)


def test_errors_without_shipped_checkpoints(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "WEIGHTS_FOLDER", tmp_path / "none")
    assert zoo.list() == []
    with pytest.raises(ValueError, match="Known names: none"):
        zoo.load("translation/c")


def test_every_shipped_checkpoint_is_complete():
    for card in zoo.list():
        read_checkpoint(find(card["name"]))


@pytest.mark.parametrize("name", [None, 3, ["translation/en-de"]])
def test_names_must_be_texts_or_paths(name):
    with pytest.raises(ValueError, match="`name_or_folder` must be a text or a path. Received: "):
        zoo.load(name)
