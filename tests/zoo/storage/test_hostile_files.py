"""Damaged or malicious files of checkpoints are refused with the reason, and no code in them runs."""

import hashlib
import pathlib
import random
import shutil
import zipfile

import keras
import numpy as np
import pytest
import safetensors.numpy

import zoo
from keras_transformer import EncoderBlock
from zoo.storage.checkpoints import read_card, read_checkpoint, write_card
from zoo.storage.formats import FORMAT

TRIES = 60


@pytest.fixture
def copy(tmp_path):
    """A copy of a shipped checkpoint to damage."""
    (name,) = (card["name"] for card in zoo.list() if card["name"] == "labelling/masc-pos-small")
    folder = pathlib.Path(zoo.__file__).parent / "weights" / name
    return pathlib.Path(shutil.copytree(folder, tmp_path / "copy"))


def files_of(folder):
    return sorted(path for path in folder.iterdir() if path.is_file())


def test_a_file_truncated_anywhere_is_refused(copy):
    rng = random.Random(1)
    for path in files_of(copy):
        whole = path.read_bytes()
        for _ in range(TRIES // 10):
            path.write_bytes(whole[: rng.randrange(len(whole))])
            with pytest.raises(ValueError, match=path.name):
                read_checkpoint(copy)
        path.write_bytes(whole)
    read_checkpoint(copy)


def test_a_bit_flipped_anywhere_is_refused(copy):
    rng = random.Random(2)
    for path in files_of(copy):
        whole = path.read_bytes()
        for _ in range(TRIES):
            place, bit = rng.randrange(len(whole)), 1 << rng.randrange(8)
            path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
            with pytest.raises(ValueError, match=path.name):
                read_checkpoint(copy)
        path.write_bytes(whole)
    read_checkpoint(copy)


def rehashed(folder, change):
    """Changes the arrays of the checkpoint, with the right hashes in its card."""
    path = folder / "model.safetensors"
    arrays = safetensors.numpy.load_file(path)
    change(arrays)
    safetensors.numpy.save_file(arrays, path)
    card = read_card(folder)
    card["files"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    write_card(folder, card)


@pytest.mark.parametrize("change", ["missing", "extra", "shape"])
def test_arrays_that_do_not_fit_are_named(copy, change):
    def harm(arrays):
        name = sorted(arrays)[0]
        if change == "missing":
            del arrays[name]
        elif change == "extra":
            arrays["intruder"] = np.zeros(1, "float32")
        else:
            arrays[name] = arrays[name][:1]

    rehashed(copy, harm)
    with pytest.raises(ValueError, match={"missing": "Missing arrays", "extra": "intruder", "shape": "shape"}[change]):
        zoo.load(copy)


def test_a_newer_format_is_refused(copy):
    write_card(copy, {**read_card(copy), "format": FORMAT + 1})
    with pytest.raises(ValueError, match="format"):
        zoo.load(copy)


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "a/../../outside", ".."])
def test_a_card_with_other_paths_is_refused(copy, name):
    card = read_card(copy)
    card["files"][name] = "0" * 64
    write_card(copy, card)
    with pytest.raises(ValueError, match="card.json"):
        zoo.load(copy)


def test_a_keras_file_with_a_lambda_runs_nothing(tmp_path):
    """Neither as a checkpoint nor as a model with layers of this package."""
    marker = tmp_path / "ran"
    inputs = keras.Input((None, 8))
    steal = keras.layers.Lambda(lambda x, path=str(marker): (open(path, "w").close(), x)[1], output_shape=(None, 8))
    model = keras.Model(inputs, steal(EncoderBlock(2, 8)(inputs)))
    marker.unlink(missing_ok=True)
    path = tmp_path / "model.keras"
    model.save(path)
    with pytest.raises(ValueError, match="[Ll]ambda"):
        keras.saving.load_model(path)
    for place in (path, tmp_path):
        with pytest.raises(ValueError):
            zoo.load(place)
    assert not marker.exists()


def test_a_nested_lambda_runs_nothing(tmp_path):
    """Inside a wrapper inside a model inside a model."""
    marker = tmp_path / "ran"
    inputs = keras.Input((None, 8))
    steal = keras.layers.Lambda(lambda x, path=str(marker): (open(path, "w").close(), x)[1], output_shape=(8,))
    wrapped = keras.layers.TimeDistributed(steal)
    inner = keras.Model(inputs, wrapped(inputs), name="inner")
    outer = keras.Model(inputs, EncoderBlock(2, 8)(keras.Model(inputs, inner(inputs), name="middle")(inputs)))
    outer.save(tmp_path / "model.keras")
    marker.unlink(missing_ok=True)
    with pytest.raises(ValueError, match="[Ll]ambda"):
        keras.saving.load_model(tmp_path / "model.keras")
    assert not marker.exists()


def test_an_archive_is_not_a_checkpoint(tmp_path):
    """Nothing is unpacked, so that names in the archive cannot lead to other folders."""
    path = tmp_path / "checkpoint.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../outside", "x")
        archive.writestr("card.json", "{}")
    with pytest.raises(ValueError):
        zoo.load(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["checkpoint.zip"]
    assert not (tmp_path.parent / "outside").exists()


def test_a_pickle_is_never_read(copy):
    (copy / "model.safetensors").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(ValueError, match=r"model\.safetensors"):
        zoo.load(copy)
    with pytest.raises(Exception, match="[Hh]eader"):
        safetensors.numpy.load_file(copy / "model.safetensors")
