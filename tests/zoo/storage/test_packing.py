"""Packed weights are close to the originals, exactly as close as their form allows; adapters need their very base."""

import json

import numpy as np
import pytest

from zoo.storage import checkpoints
from zoo.storage.checkpoints import CARD, CONFIG, VOCABULARY, WEIGHTS, Checkpoint, read_checkpoint, write_checkpoint
from zoo.storage.packing import check_base, pack, unpack

RNG = np.random.default_rng(3)
ARRAYS = {
    "table": (RNG.normal(size=(60, 40)) * np.geomspace(0.01, 10, 60)[:, None]).astype("float32"),
    "kernel": (RNG.normal(size=(40, 60)) * np.geomspace(0.01, 10, 60)).astype("float32"),
    "cube": RNG.normal(size=(4, 30, 20)).astype("float32"),
    "zeros": np.zeros((50, 50), "float32"),
    "bias": RNG.normal(size=60).astype("float32"),
}


def low_rank(rank, rows=40, columns=60):
    return (RNG.normal(size=(rows, rank)) @ RNG.normal(size=(rank, columns))).astype("float32")


def size(arrays):
    return sum(array.nbytes for array in arrays.values())


@pytest.mark.parametrize("dtype, bits, tolerance", [("float32", 32, 0), ("float16", 16, 2**-11), ("int8", 10, None)])
def test_unpacking_inverts_packing(dtype, bits, tolerance):
    packed = pack(ARRAYS, dtype)
    found = unpack(packed)
    assert found.keys() == ARRAYS.keys() and size(packed) <= size(ARRAYS) * bits / 32
    for name, array in ARRAYS.items():
        assert found[name].dtype == "float32" and found[name].shape == array.shape
        if tolerance is not None:
            np.testing.assert_allclose(found[name], array, rtol=tolerance)


def test_int8_rounds_to_multiples_of_the_scales():
    packed = pack(ARRAYS, "int8")
    found = unpack(packed)
    for name in ("table", "kernel", "cube"):
        step = packed[f"{name}@rows"] * packed[f"{name}@columns"]
        array, received = (x.reshape(step.shape) for x in (ARRAYS[name], found[name]))
        assert (np.abs(received - array) <= 0.501 * step).all(), name
        assert (np.abs(packed[name].reshape(step.shape)).max(1) == 127).all(), "all of the range is used"
    for name in ("zeros", "bias"):
        np.testing.assert_array_equal(found[name], ARRAYS[name])


def test_outliers_make_their_row_and_column_coarse_only():
    """Against rounding with a scale for each row, or for each column."""
    array = RNG.normal(size=(200, 300)).astype("float32")
    array[:, 7] *= 50
    array[11] *= 50

    def error(rounded):
        return np.square(np.delete(np.delete(rounded - array, 11, 0), 7, 1)).mean()

    steps = (np.abs(array).max(axis, keepdims=True) / 127 for axis in (0, 1))
    others = [error(np.rint(array / step) * step) for step in steps]
    assert error(unpack(pack({"x": array}, "int8"))["x"]) < min(others) / 20


def test_int8_of_a_narrow_matrix_has_few_scales():
    packed = pack({"narrow": RNG.uniform(-1, 1, (4000, 6)).astype("float32")}, "int8")
    assert packed["narrow@rows"].tolist() == [[1]] and packed["narrow"].dtype == "int8"


def test_differences_to_a_base():
    base = {name: ARRAYS[name] for name in ("table", "kernel", "bias")}
    changed = {**ARRAYS, "kernel": ARRAYS["kernel"] + low_rank(3), "bias": ARRAYS["bias"] + 1}
    packed = pack(changed, base=base)
    assert "table" not in packed and packed["kernel@left"].shape == (40, 3) and packed["kernel@right"].shape == (3, 60)
    found = unpack(packed, base)
    assert found.keys() == changed.keys()
    for name, array in changed.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=1e-4 if name == "kernel" else 0)
    rounded = unpack(pack(changed, "int8", base), base)
    assert np.abs(rounded["kernel"] - changed["kernel"]).max() < 0.2 < np.abs(changed["kernel"] - base["kernel"]).max()
    full = {**changed, "kernel": ARRAYS["kernel"] + low_rank(40)}
    np.testing.assert_array_equal(unpack(pack(full, base=base), base)["kernel"], full["kernel"])
    assert pack(base, base=base) == {} and unpack({}, base).keys() == base.keys()


@pytest.mark.parametrize(
    "packed, message",
    [
        ({"a@columns": np.ones(2, "float32")}, "Each part must belong to an array. Received: 'a@columns'"),
        ({"a@left": np.ones((2, 1)), "a@right": np.ones((1, 2))}, "'a' must fit .* Received: no base with it"),
        ({"b@left": np.ones((2, 1))}, "'b' must fit .* Received: no part 'b@right'"),
        ({"b@left": np.ones((3, 1)), "b@right": np.ones((1, 2))}, "The parts of 'b' must fit"),
    ],
)
def test_parts_that_do_not_fit(packed, message):
    with pytest.raises(ValueError, match=message):
        unpack(packed, {"b": np.ones((2, 2), "float32")})


def test_what_cannot_be_packed():
    with pytest.raises(ValueError, match="`dtype` must be one of float32, float16, int8. Received: dtype='int4'"):
        pack(ARRAYS, "int4")
    with pytest.raises(ValueError, match="'x' has values that are not finite"):
        pack({"x": np.full((40, 40), np.nan, "float32")}, "int8")
    message = (
        r"Received: the base X, whose 'y' has the shape \(2,\), and a model with no such array. Pass the checkpoint"
    )
    with pytest.raises(ValueError, match=f"must contain its base. {message}"):
        check_base(ARRAYS, {"y": np.ones(2)}, "X")


@pytest.fixture
def zoo_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "WEIGHTS_FOLDER", tmp_path / "weights")
    card = {"task": "encoder"}
    base = Checkpoint(card, {"n": 1}, {"table": ARRAYS["table"]}, b"words")
    write_checkpoint(tmp_path / "weights" / "encoder" / "base", base, "int8")
    return tmp_path


def adapter(table, vocabulary=b"words"):
    return Checkpoint({"task": "tag"}, {"n": 1}, {"table": table, "head": ARRAYS["kernel"]}, vocabulary)


def test_adapters_hold_the_difference(zoo_folder):
    below = read_checkpoint(zoo_folder / "weights" / "encoder" / "base")
    assert below.card["dtype"] == "int8" and "base" not in below.card
    written = adapter(below.arrays["table"])
    card = write_checkpoint(zoo_folder / "adapter", written, base="encoder/base")
    assert card["base"] == {"name": "encoder/base", "sha256": below.card["files"][WEIGHTS]}
    assert {path.name for path in (zoo_folder / "adapter").iterdir()} == {CARD, CONFIG, WEIGHTS}
    found = read_checkpoint(zoo_folder / "adapter")
    assert found.vocabulary == b"words"
    for name, array in written.arrays.items():
        np.testing.assert_array_equal(found.arrays[name], array)
    write_checkpoint(zoo_folder / "other", adapter(below.arrays["table"], b"others"), base="encoder/base")
    assert read_checkpoint(zoo_folder / "other").vocabulary == b"others"


def test_adapters_need_their_base(zoo_folder):
    folder = zoo_folder / "adapter"
    write_checkpoint(folder, adapter(ARRAYS["table"]), base="encoder/base")
    with pytest.raises(ValueError, match="The base of an adapter must be whole. Received: .*adapter, an adapter"):
        write_checkpoint(zoo_folder / "second", adapter(ARRAYS["table"]), base=folder)
    place = zoo_folder / "weights" / "encoder" / "base"
    place.rename(zoo_folder / "away")
    with pytest.raises(ValueError, match="is an adapter on 'encoder/base', which is missing: "):
        read_checkpoint(folder)
    write_checkpoint(place, Checkpoint({"task": "encoder"}, {"n": 1}, {"table": ARRAYS["table"] + 1}, b"words"))
    with pytest.raises(ValueError, match="is an adapter on 'encoder/base' with weights of the SHA-256 .* Use the base"):
        read_checkpoint(folder)


@pytest.mark.parametrize("base", [None, "x", {"name": "encoder/base"}, {"name": "y", "sha256": "z"}])
def test_an_altered_base_is_found(zoo_folder, base):
    folder = zoo_folder / "adapter"
    write_checkpoint(folder, adapter(ARRAYS["table"]), base="encoder/base")
    config = json.loads((folder / CONFIG).read_text())
    (folder / CONFIG).write_text(json.dumps({**config, "base": base}))
    with pytest.raises(ValueError, match="does not match its hash"):
        read_checkpoint(folder)
    card = checkpoints.read_card(folder)
    files = {**card["files"], CONFIG: checkpoints.hashlib.sha256((folder / CONFIG).read_bytes()).hexdigest()}
    checkpoints.write_card(folder, {**card, "files": files})
    whole = base is None or len(base) == 2
    form = "must have a `base` with the values `name` and `sha256`, or none. Received: "
    with pytest.raises(ValueError, match="must have the base of the card" if whole else form):
        read_checkpoint(folder)
    checkpoints.write_card(folder, {**card, "files": files, "base": base})  # Both files agree.
    if not whole:
        with pytest.raises(ValueError, match=form):
            read_checkpoint(folder)


def test_every_byte_of_packed_weights_is_protected(zoo_folder):
    place = zoo_folder / "weights" / "encoder" / "base"
    content = (place / WEIGHTS).read_bytes()
    for position in range(0, len(content), 211):
        altered = bytearray(content)
        altered[position] ^= 1
        (place / WEIGHTS).write_bytes(altered)
        with pytest.raises(ValueError, match="does not match its hash"):
            read_checkpoint(place)
    assert VOCABULARY in checkpoints.read_card(place)["files"]
