"""Writing steps and adding to rows: what NumPy assigns, by an operation of TensorFlow's where that is asked for."""

import keras
import layer_checks
import numpy as np
import pytest
from keras import ops
from layer_checks import tensorflow_only

from keras_transformer.ops.updates import add_to_each_row, updates_in_place, write_steps

OLD, NEW = np.arange(30, dtype="float32").reshape(2, 5, 3), -np.ones((2, 2, 3), "float32")
SPECS = ([None, None, 3], "float32"), ([None, None, 3], "float32"), ([], "int32")
OWN, OF_XLA = "TensorStridedSliceUpdate", "XlaDynamicUpdateSlice"


def expected(start):
    changed = OLD.copy()
    changed[:, start : start + 2] = NEW
    return changed


def traced(function, specs=SPECS, **options):
    import tensorflow as tf

    signature = [tf.TensorSpec(*spec) for spec in specs]
    return tf.function(function, input_signature=signature, autograph=False, **options).get_concrete_function()


def kinds(graph):
    return {node.op for node in graph.as_graph_def().node}


@pytest.mark.parametrize("start", [0, 1, 3])
def test_written_steps_replace_others(start):
    np.testing.assert_array_equal(write_steps(ops.convert_to_tensor(OLD), NEW, start), expected(start))


@tensorflow_only
@pytest.mark.parametrize("start", [0, 1, 3])
@pytest.mark.parametrize("in_place", [False, True])
def test_graphs_write_the_same(start, in_place):
    """What else reads the tensor reads its old values."""

    def run(old, new, start):
        return old * 1, write_steps(old, new, start), old + 0

    if in_place:
        with updates_in_place():
            function = traced(run)
    else:
        function = traced(run)
    assert ((OWN in kinds(function.graph)), (OF_XLA in kinds(function.graph))) == (in_place, not in_place)
    before, after, behind = function(OLD, NEW, start)
    np.testing.assert_array_equal(after, expected(start))
    np.testing.assert_array_equal(before, OLD)
    np.testing.assert_array_equal(behind, OLD)


@pytest.mark.parametrize("compiled", [None, False, *([True] if keras.backend.backend() == "tensorflow" else [])])
def test_values_are_added_at_a_column_of_each_row(compiled):
    """Eagerly, in a graph and under XLA; what else reads the tensor reads its old values."""
    old = np.arange(12, dtype="float32").reshape(4, 3)
    columns, values = np.array([2, 0, 0, 1], "int32"), np.array([0.5, -1, 7, 2], "float32")
    expected = old.copy()
    expected[np.arange(4), columns] += values

    def run(x, columns, values):
        x = x * 1.0
        return x * 1, add_to_each_row(x, columns, values), x + 0

    function = run
    if compiled:
        import tensorflow as tf

        function = tf.function(run, jit_compile=True, autograph=False)
    elif compiled is False:
        function = layer_checks.compiled(run)
    before, found, behind = function(*map(ops.convert_to_tensor, (old, columns, values)))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(before, old)
    np.testing.assert_array_equal(behind, old)


@tensorflow_only
def test_graphs_add_in_place():
    signature = [([None, 3], "float32"), ([None], "int32"), ([None], "float32")]
    assert "ScatterNdNonAliasingAdd" in kinds(traced(add_to_each_row, signature).graph)


def write_in_a_loop(old, new, count):
    body = lambda i, x: (i + 1, write_steps(x, new + ops.sum(x[:, :1, :1]), i))  # noqa: E731
    return ops.while_loop(lambda i, x: i < count, body, (0, old))[1]


@tensorflow_only
@pytest.mark.parametrize("compiled", ["not", "whole", "inside"])
def test_steps_written_in_a_loop(compiled):
    """TensorFlow's own operation needs places that are known when XLA compiles, as those of a loop are not."""
    import tensorflow as tf

    def part(*arguments):
        return tf.function(write_in_a_loop, jit_compile=True, autograph=False)(*arguments)

    with updates_in_place():
        function = traced(part if compiled == "inside" else write_in_a_loop, jit_compile=compiled == "whole")
    changed = OLD.copy()
    for i in range(4):
        changed[:, i : i + 2] = NEW + changed[:, :1, :1].sum()
    np.testing.assert_array_equal(function(OLD, NEW, 4), changed)
