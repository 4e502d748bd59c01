"""PyTorch's files of weights are read without PyTorch; what they ask to run is refused."""

import collections
import io
import pathlib
import pickle
import sys
import types
import zipfile

import numpy as np
import pytest

from zoo.conversion.pickles import read_pickled_arrays

FIXTURES = pathlib.Path(__file__).parents[2] / "fixtures"


def expected():
    """What the fixtures hold, by the program that wrote them, weights.py."""
    table = np.arange(12, dtype="float32").reshape(3, 4)
    return {
        "table": table,
        "transposed": table.T,
        "part": table[1:, 2:],
        "half": np.array([0.5, -2.0], "float16"),
        "bfloat": np.array([1.0, 3.140625], "float32"),
        "ids": np.array([[7], [-1]], "int64"),
        "scalar": np.float32(2.5),
        "none": np.zeros((0, 3), "float32"),
    }


@pytest.mark.parametrize("name", ["weights.bin", "weights-legacy.bin"])
def test_files_of_pytorch(name):
    found = read_pickled_arrays(FIXTURES / name)
    assert found.keys() == expected().keys()
    for key, array in expected().items():
        np.testing.assert_array_equal(found[key], array)
        assert found[key].dtype == array.dtype and found[key].shape == array.shape


class Call:
    """Pickled as the call of a function by name."""

    def __init__(self, function, *arguments):
        self.reduced = function, arguments

    def __reduce__(self):
        return self.reduced


class Pickler(pickle.Pickler):
    def persistent_id(self, value):
        return value[1:] if isinstance(value, tuple) and value[:1] == ("persistent",) else None


@pytest.fixture
def torch(monkeypatch):
    """Stands in for the names of PyTorch that a pickle refers to."""
    module, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    for owner, name in ((module, "FloatStorage"), (module, "load"), (utils, "_rebuild_tensor_v2")):

        def function():
            raise AssertionError

        function.__module__, function.__qualname__ = owner.__name__, name
        setattr(owner, name, function)
    monkeypatch.setitem(sys.modules, "torch", module)
    monkeypatch.setitem(sys.modules, "torch._utils", utils)
    return types.SimpleNamespace(storage=module.FloatStorage, load=module.load, rebuild=utils._rebuild_tensor_v2)


def write(path, value, numbers=b"", compression=zipfile.ZIP_STORED):
    content = io.BytesIO()
    Pickler(content, 2).dump(value)
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("archive/data.pkl", content.getvalue())
        archive.writestr("archive/data/0", numbers)
    return path


def tensor(torch, shape, strides, offset=0, count=4, kind="storage"):
    storage = "persistent", kind, torch.storage, "0", "cpu", count
    return Call(torch.rebuild, storage, offset, shape, strides, False, collections.OrderedDict())


NUMBERS = np.arange(4, dtype="float32").tobytes()


def test_the_stand_in_writes_what_is_read(tmp_path, torch):
    found = read_pickled_arrays(write(tmp_path / "a", {"x": tensor(torch, (2, 2), (1, 2))}, NUMBERS))
    np.testing.assert_array_equal(found["x"], [[0, 2], [1, 3]])


@pytest.mark.parametrize(
    ("shape", "strides", "options"),
    [
        ((2, 3), (3, 1), {}),
        ((2,), (1,), {"offset": 3}),
        ((2,), (-1,), {"offset": 3}),
        ((2,), (1,), {"offset": -1}),
        ((2**40,), (0,), {}),
        ((2**20, 2**20), (0, 0), {}),
        ((-2, -2), (1, 1), {}),
        ((2,), (2**62,), {}),
    ],
)
def test_tensors_beyond_their_numbers(tmp_path, torch, shape, strides, options):
    path = write(tmp_path / "a", {"x": tensor(torch, shape, strides, **options)}, NUMBERS)
    with pytest.raises(ValueError, match=r"a cannot be read: its tensor 'x' of shape .* reaches beyond its 4 numbers"):
        read_pickled_arrays(path)


def test_numbers_that_are_not_there(tmp_path, torch):
    for count in (5, 2**40):
        path = write(tmp_path / "a", {"x": tensor(torch, (5,), (1,), count=count)}, NUMBERS)
        with pytest.raises(ValueError, match="the numbers of 'x' are cut off"):
            read_pickled_arrays(path)


def test_calls_are_refused_and_not_run(tmp_path, torch):
    ran = tmp_path / "ran"
    for call in (Call(pathlib.Path.touch, ran), Call(eval, f"open({str(ran)!r}, 'w')"), Call(torch.load, "file")):
        path = write(tmp_path / "a", {"x": tensor(torch, (4,), (1,)), "y": call}, NUMBERS)
        with pytest.raises(ValueError, match=r"it names \S+, which weights do not need and which is not run"):
            read_pickled_arrays(path)
        assert not ran.exists()
    path.write_bytes(pickle.dumps(Call(pathlib.Path.touch, ran)))
    with pytest.raises(ValueError, match="which is not run"):
        read_pickled_arrays(path)
    assert not ran.exists()


# A tuple of itself twice, again and again; `h\0` then stands for it.
NESTED = b"\x80\x02)q\0" + b"h\0h\0\x86q\0" * 40


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x80\x02})" + b"2\x86" * 40 + b"Ns.", "DUP, which weights do not need and which is not run"),
        (NESTED + b"}h\0Ns.", "its keys must be texts or whole numbers. Received: tuple"),
        (NESTED + b"}(h\0Nu.", "its keys must be texts"),
        (NESTED + b"ccollections\nOrderedDict\nh\0N\x86\x85\x85R.", "its keys must be texts"),
        (NESTED + b"(h\0NU\x010U\x01cK\x01tQ.", "unknown object, <class 'tuple'>"),
        (NESTED + b"(U\x07storagectorch\nFloatStorage\nh\0U\x01cK\x01tQ.", "a text as its key"),
        (b"ctorch._utils\n_rebuild_tensor_v2\n(NK\0(" + b"J\xff\xff\xff\x7f" * 2**19 + b"t)tR.", "at most 32 axes"),
    ],
)
def test_pickles_that_would_take_forever_are_refused(tmp_path, content, message):
    path = tmp_path / "a"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", content)
    with pytest.raises(ValueError, match=message):
        read_pickled_arrays(path)
    # The older format: after its head, or in the list of storages that ends it.
    head = [pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})]
    path.write_bytes(b"".join([*head, content]))
    with pytest.raises(ValueError, match=message):
        read_pickled_arrays(path)
    path.write_bytes(b"".join([*head, pickle.dumps({}, 2), NESTED + b"]h\0a.", b"\0" * 8]))
    with pytest.raises(ValueError, match="numbers of an unknown type"):
        read_pickled_arrays(path)


def test_state_dicts_with_metadata_and_of_python_2(tmp_path, torch):
    """Versions of layers are an attribute; Python 2 wrote the items as a list of lists, and texts as bytes."""
    tensors = collections.OrderedDict(x=tensor(torch, (4,), (1,)))
    tensors._metadata = collections.OrderedDict([("", {"version": 1})])
    found = read_pickled_arrays(write(tmp_path / "a", {"epoch": 3, 0: None, "state_dict": tensors}, NUMBERS))
    assert found["x"].tolist() == [0, 1, 2, 3]
    content = (
        b"\x80\x02ccollections\nOrderedDict\n](](U\x01xctorch._utils\n_rebuild_tensor_v2\n((U\x07storage"
        b"ctorch\nFloatStorage\nU\x010U\x03cpuK\x04NtQK\0K\x04\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR"
        b"ee\x85R."
    )
    with zipfile.ZipFile(tmp_path / "b", "w") as archive:
        archive.writestr("archive/data.pkl", content)
        archive.writestr("archive/data/0", NUMBERS)
    assert read_pickled_arrays(tmp_path / "b")["x"].tolist() == [0, 1, 2, 3]


def test_other_and_damaged_files(tmp_path, torch):
    good = {"x": tensor(torch, (4,), (1,))}
    path = write(tmp_path / "a", good, NUMBERS, zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="must not be compressed"):
        read_pickled_arrays(path)
    for value, message in (
        ([1, 2], "must hold a dictionary of tensors. Received: list"),
        ({"a": 1}, "must hold tensors by name"),
        ({1: good["x"]}, "must hold tensors by name"),
        ({"x": tensor(torch, (4,), (1,), kind="module")}, "unknown object, 'module'"),
    ):
        with pytest.raises(ValueError, match=message):
            read_pickled_arrays(write(path, value, NUMBERS))
    for content in (b"", b"nonsense", pickle.dumps("x"), (FIXTURES / "weights-legacy.bin").read_bytes()[:-40]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=str(path)):
            read_pickled_arrays(path)
    for size in range(0, 1400, 100):
        path.write_bytes((FIXTURES / "weights.bin").read_bytes()[:size])
        with pytest.raises(ValueError, match=str(path)):
            read_pickled_arrays(path)
