"""Tests of averaged checkpoints."""

import numpy as np
import pytest

from keras_transformer.training import average_arrays


def checkpoint(seed):
    generator = np.random.default_rng(seed)
    return {
        "kernel": generator.normal(size=(3, 5)).astype("float32"),
        "half": generator.normal(size=7).astype("float16"),
        "steps": np.array(10 * seed, "int64"),
    }


def test_means_name_by_name_in_the_dtype_of_the_first():
    checkpoints = [checkpoint(seed) for seed in range(1, 4)]
    average = average_arrays(checkpoints)
    assert list(average) == ["kernel", "half", "steps"]
    for name, array in average.items():
        assert array.dtype == checkpoints[0][name].dtype and array.shape == checkpoints[0][name].shape
        expected = np.mean([c[name].astype("float64") for c in checkpoints], axis=0)
        np.testing.assert_array_equal(array, expected.astype(array.dtype))


@pytest.mark.parametrize("dtype", ["int16", "int64", "uint8"])
def test_means_of_integers_are_rounded_to_the_nearest(dtype):
    average = average_arrays([{"steps": np.array(steps, dtype)} for steps in ([1, 2], [2, 2], [2, 3])])
    assert average["steps"].dtype == dtype and average["steps"].tolist() == [2, 2]  # Of 5 / 3 and 7 / 3.


def test_sums_in_float64_without_changing_the_checkpoints():
    large = {"w": np.array([1e8, 1.0], "float32")}
    small = {"w": np.array([1.0, 1.0], "float32")}
    copy = large["w"].copy()
    average = average_arrays([large, small, small])
    np.testing.assert_array_equal(average["w"], np.array([(1e8 + 2) / 3, 1.0]).astype("float32"))
    np.testing.assert_array_equal(large["w"], copy)
    single = average_arrays([large])
    np.testing.assert_array_equal(single["w"], copy)
    assert single["w"] is not large["w"]


def test_lists_of_weights_give_a_list():
    checkpoints = [list(checkpoint(seed).values()) for seed in range(1, 4)]
    average = average_arrays(checkpoints)
    assert isinstance(average, list)
    for array, *parts in zip(average, *checkpoints):
        np.testing.assert_array_equal(array, np.mean(np.array(parts, "float64"), axis=0).astype(parts[0].dtype))
    with pytest.raises(ValueError, match="must agree on shapes. Received for 1"):
        average_arrays([checkpoints[0], [checkpoints[1][0], np.zeros(3), checkpoints[1][2]]])
    with pytest.raises(ValueError, match="2 is not in all of them"):
        average_arrays([checkpoints[0], checkpoints[1][:2]])


@pytest.mark.parametrize("wrong", [np.zeros(3), 3, "abc", {"kernel": 1.0}])
def test_invalid_checkpoints_raise(wrong):
    with pytest.raises(ValueError, match=f"a list of arrays. Received: {type(wrong).__name__}"):
        average_arrays([wrong])


def test_reads_one_checkpoint_at_a_time():
    read = []

    def stream():
        for seed in range(1, 4):
            read.append(seed)
            yield checkpoint(seed)

    average_arrays(stream())
    assert read == [1, 2, 3]


def test_no_checkpoint_raises():
    with pytest.raises(ValueError, match="At least one checkpoint is needed"):
        average_arrays([])


@pytest.mark.parametrize("change", ["missing", "extra"])
def test_other_names_raise(change):
    other = checkpoint(2)
    name = "half" if change == "missing" else "bias"
    if change == "missing":
        del other[name]
    else:
        other[name] = np.zeros(3)
    with pytest.raises(ValueError, match=f"must hold the same arrays. '{name}' is not in all"):
        average_arrays([checkpoint(1), other])


def test_other_shapes_raise():
    other = {**checkpoint(2), "kernel": np.zeros((5, 3), "float32")}
    with pytest.raises(ValueError, match=r"for 'kernel': \(5, 3\), where the first has \(3, 5\)"):
        average_arrays([checkpoint(1), other])
