"""Tests that sizes are right and, in a TensorFlow graph, computed once."""

import itertools

import numpy as np
import pytest
from keras import ops
from layer_checks import array, tensorflow_only

from keras_transformer import Encoder
from keras_transformer.ops.sizes import flattened, keep_sizes, reshape, sizes, transpose, unflattened

X = array(2, 3, 5)


def nodes(function, *shapes):
    """Returns the kinds of the nodes of a graph for inputs of these shapes."""
    import tensorflow as tf

    specs = [tf.TensorSpec(shape) for shape in shapes]
    graph = tf.function(function, autograph=False, input_signature=specs).get_concrete_function().graph.as_graph_def()
    return [node.op for node in graph.node]


def test_known_sizes_are_integers():
    x = ops.convert_to_tensor(X)
    assert sizes(x) == (2, 3, 5) and all(type(size) is int for size in sizes(x))
    assert sizes(transpose(x, (1, 2, 0))) == (3, 5, 2) and sizes(flattened(x)) == (6, 5)
    np.testing.assert_array_equal(unflattened(flattened(x), (2, 3)), X)


@pytest.mark.parametrize("shape", [(2, 1, 5), (1, 3, 1), (2, 3, 1)])
def test_axes_of_one_element_are_permuted_as_in_numpy(shape):
    x = array(*shape)
    for axes in itertools.permutations(range(3)):
        np.testing.assert_array_equal(transpose(ops.convert_to_tensor(x), axes), x.transpose(axes))


def shuffled(x):
    """Uses the sizes of x in several ways; the result is `2 x`, transposed."""
    y = keep_sizes(reshape(flattened(x) * 2.0, sizes(x)), x)
    y = unflattened(flattened(y), sizes(y)[:2])
    rows, steps, width = sizes(transpose(y, (1, 0, 2)))
    return ops.reshape(ops.transpose(y, (1, 0, 2)), (rows, steps, width))


@tensorflow_only
@pytest.mark.parametrize("shape, count", [((None, None, 5), 1), ((2, 3, 5), 0)])
def test_sizes_are_computed_once(shape, count):
    import tensorflow as tf

    assert nodes(shuffled, shape).count("Shape") == count
    compiled = tf.function(shuffled, input_signature=[tf.TensorSpec(shape)], autograph=False)
    np.testing.assert_array_equal(compiled(X), 2 * X.transpose(1, 0, 2))


@tensorflow_only
def test_sizes_of_a_branch_stay_in_it():
    """Those computed in a branch or a loop first are computed again outside; a size from outside serves inside."""
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec((None, None, 5))], autograph=False)
    def rows(x):
        inside = tf.cond(tf.reduce_sum(x) > 0, lambda: sizes(x)[0] + 0 * sizes(flattened(x))[0], lambda: 0)
        loop = tf.while_loop(lambda i: i < 2, lambda i: i + sizes(x)[0], [0])[0]
        return inside, loop, sizes(x)[0], tf.shape(flattened(x))[0]

    assert [int(value) for value in rows(np.ones((2, 3, 5), "float32"))] == [2, 2, 2, 6]


@tensorflow_only
def test_sizes_are_not_kept_through_broadcasts():
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec((1, None, 5)), tf.TensorSpec((None, None, 5))], autograph=False)
    def rows(x, y):
        return sizes(keep_sizes(x + y, x))[0]

    assert rows(X[:1], X) == 2


@tensorflow_only
def test_an_encoder_computes_the_sizes_of_its_input_only():
    encoder = Encoder(num_layers=3, num_heads=2, intermediate_dim=7)
    encoder.build((None, None, 6))
    found = nodes(encoder, (None, None, 6))
    # One of the input, and one of its positions, whatever the number of layers.
    assert found.count("Shape") <= 2, found.count("Shape")
