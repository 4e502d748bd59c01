"""Tests that functions are computed once in a TensorFlow graph, and as usual elsewhere."""

import numpy as np
from keras import ops
from layer_checks import tensorflow_only

from keras_transformer.ops.once import once


@once
def times(x, number):
    return x * number


def test_eager_calls_are_as_usual():
    x = ops.convert_to_tensor(np.array([1.0, 2.0], "float32"))
    np.testing.assert_array_equal(ops.convert_to_numpy(times(x, 2)), [2, 4])
    np.testing.assert_array_equal(ops.convert_to_numpy(times(x, 3)), [3, 6])


@tensorflow_only
def test_a_graph_has_one_result_for_each_arguments():
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec([2]), tf.TensorSpec([2])], autograph=False)
    def graph(x, y):
        assert times(x, 2) is times(x, 2)
        assert len({id(found) for found in (times(x, 2), times(x, 3), times(y, 2), times(x, 2.0), times(x, True))}) == 5
        return times(x, 2) + times(y, 3)

    np.testing.assert_array_equal(graph(np.ones(2, "float32"), np.ones(2, "float32")), [5, 5])


@tensorflow_only
def test_results_stay_in_their_graph():
    """What is computed in a loop or a branch first is computed again outside."""
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec([])], autograph=False)
    def graph(x):
        inside = tf.cond(x > 0, lambda: times(x, 2), lambda: 0.0)
        loop = tf.while_loop(lambda i, total: i < 2, lambda i, total: (i + 1, total + times(x, 2)), [0, 0.0])[1]
        return inside, loop, times(x, 2)

    assert [float(value) for value in graph(1.0)] == [2, 4, 2]
