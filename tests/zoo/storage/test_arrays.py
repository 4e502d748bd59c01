"""Weights by name: names are unique, assignment and files are all or nothing."""

import os
import pathlib

import keras
import numpy as np
import pytest
import safetensors.numpy

from keras_transformer.training import average_arrays
from zoo.config import ModelConfig
from zoo.models.seq2seq import Seq2Seq
from zoo.storage.arrays import assign_arrays, load_arrays, named_arrays, save_arrays, write_atomically


@pytest.fixture
def model():
    config = ModelConfig(
        vocabulary_size=11,
        num_encoder_layers=1,
        num_decoder_layers=2,
        hidden_dim=6,
        intermediate_dim=5,
        num_heads=2,
        normalize_first=True,
    )
    model = Seq2Seq(config)
    model.build()
    return model


def test_every_weight_has_one_name_without_that_of_the_model(model):
    arrays = named_arrays(model)
    assert len(arrays) == len(model.weights)
    assert sum(array.size for array in arrays.values()) == model.count_params()
    assert not any(name.startswith("seq2seq") for name in arrays)
    assert {
        "embedding/embeddings",
        "encoder/block_0/self_attention/query_dense/kernel",
        "decoder/block_1/cross_attention/output_dense/bias",
        "decoder/norm/gamma",
    } <= arrays.keys()


def test_a_tied_table_is_one_array(model):
    assert [name for name, array in named_arrays(model).items() if 11 in array.shape] == ["embedding/embeddings"]


def test_names_do_not_depend_on_the_name_of_the_model(model):
    other = Seq2Seq(model.config, name="another")
    other.build()
    assert named_arrays(other).keys() == named_arrays(model).keys()


def test_two_weights_of_one_name_are_refused():
    class Twins(keras.Model):
        def build(self):
            for _ in range(2):
                self.add_weight(shape=(1,), name="twin")
            self.built = True

    twins = Twins()
    twins.build()
    with pytest.raises(ValueError, match="Two weights of the model have the path 'twin'"):
        named_arrays(twins)


def test_assigned_arrays_are_the_weights(model):
    arrays = {name: np.full_like(array, i) for i, (name, array) in enumerate(named_arrays(model).items())}
    assign_arrays(model, arrays, "a test")
    for name, array in named_arrays(model).items():
        np.testing.assert_array_equal(array, arrays[name])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays: arrays.pop("decoder/norm/beta"), "a test does not fit .*Missing arrays: decoder/norm/beta"),
        (lambda arrays: arrays.update(odd=np.zeros(1)), "unknown arrays: odd"),
        (
            # The last array: earlier ones would have been assigned already.
            lambda arrays: arrays.update({[*arrays][-1]: np.zeros((2, 3))}),
            r"must have shape \(6,\). Received: \(2, 3\)",
        ),
        *(
            (
                lambda arrays, value=value: arrays["decoder/norm/beta"].__setitem__(2, value),
                "a test must have finite weights. Received: NaN or infinity in 'decoder/norm/beta'",
            )
            for value in (np.nan, np.inf, -np.inf)
        ),
        (
            lambda arrays: arrays.update({"decoder/norm/beta": np.full(6, 1e300)}),
            "a test must have finite weights. Received: NaN or infinity in 'decoder/norm/beta'",
        ),
        (lambda arrays: arrays.clear(), r"Missing arrays: .* and \d+ more; unknown arrays: none"),
    ],
)
def test_mismatched_arrays_change_nothing(model, change, message):
    before = named_arrays(model)
    arrays = {name: array + 1 for name, array in before.items()}
    change(arrays)
    with pytest.raises(ValueError, match=message):
        assign_arrays(model, arrays, "a test")
    for name, array in named_arrays(model).items():
        np.testing.assert_array_equal(array, before[name])


ARRAYS = {
    "half": np.arange(6, dtype="float16").reshape(2, 3),
    "turned": np.arange(6, dtype="float32").reshape(2, 3).T,  # Not contiguous.
    "scalar": np.array(7, "uint32"),
    "empty": np.zeros((0, 3), "float32"),
}


@pytest.mark.parametrize("facts", [None, {"step": 3, "text": "ü", "none": None, "list": [1, 2.5]}])
def test_files_preserve_arrays_and_facts(tmp_path, facts):
    save_arrays(tmp_path / "file", ARRAYS, facts)
    arrays, found = load_arrays(tmp_path / "file")
    assert found == facts and arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch, call, error):
    save_arrays(tmp_path / "file", {"a": np.zeros(3)})
    before = (tmp_path / "file").read_bytes()

    def fail(*args):
        raise error

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(type(error)):
        save_arrays(tmp_path / "file", {"a": np.ones(3)})
    with pytest.raises(type(error)):
        write_atomically(tmp_path / "new", b"content")
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == before


def test_the_file_is_complete_before_it_gets_its_name(tmp_path, monkeypatch):
    seen = []
    replace = os.replace

    def look(temporary, path):
        seen.append((pathlib.Path(temporary).read_bytes(), os.path.exists(path)))
        replace(temporary, path)

    monkeypatch.setattr(os, "replace", look)
    write_atomically(tmp_path / "file", b"content")
    assert seen == [(b"content", False)]
    assert (tmp_path / "file").read_bytes() == b"content"


@pytest.mark.parametrize("length", [0, 4, 20, -1])
def test_truncated_files_are_named(tmp_path, length):
    path = tmp_path / "weights.safetensors"
    save_arrays(path, ARRAYS)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ValueError, match="weights.safetensors is missing, truncated or not a safetensors file"):
        load_arrays(path)


def test_every_flipped_bit_is_detected(tmp_path):
    """Flips each bit of the file: it is refused, or its content is unchanged."""
    path = tmp_path / "weights.safetensors"
    save_arrays(path, ARRAYS, {"step": 3})
    content = path.read_bytes()
    refused = 0
    for place in range(0, 8 * len(content), 5):
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        try:
            arrays, facts = load_arrays(path)
        except ValueError:
            refused += 1
            continue
        assert facts == {"step": 3} and arrays.keys() == ARRAYS.keys()
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(arrays[name], array)
    assert refused > 0.9 * len(content) * 8 / 5


@pytest.mark.parametrize("metadata", [None, {"facts": "null"}])
def test_files_without_a_hash_are_refused(tmp_path, metadata):
    (tmp_path / "file").write_bytes(safetensors.numpy.save({"a": np.zeros(3)}, metadata))
    with pytest.raises(ValueError, match="file was altered after it was written"):
        load_arrays(tmp_path / "file")


def test_missing_and_foreign_files_are_named(tmp_path):
    (tmp_path / "text").write_text("this is no safetensors file, whatever it is")
    for name in ("text", "absent"):
        with pytest.raises(ValueError, match=f"{name} is missing, truncated or not a safetensors file"):
            load_arrays(tmp_path / name)


def test_a_corrupt_member_of_an_average_is_named(tmp_path):
    """It does not become part of the mean, and is not left out in silence."""
    paths = [tmp_path / f"step-{number}.safetensors" for number in range(3)]
    for number, path in enumerate(paths):
        save_arrays(path, {"kernel": np.full((2, 3), float(number))})
    np.testing.assert_array_equal(average_arrays(load_arrays(path)[0] for path in paths)["kernel"], np.ones((2, 3)))
    whole = paths[1].read_bytes()
    for harmed in (whole[:-1] + bytes([whole[-1] ^ 1]), whole[:-1], b""):
        paths[1].write_bytes(harmed)
        with pytest.raises(ValueError, match="step-1.safetensors (was altered|is missing, truncated)"):
            average_arrays(load_arrays(path)[0] for path in paths)
