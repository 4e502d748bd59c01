"""Tests of ids and positions outside of a table: eager errors, assertions in graphs, and the setting for both."""

import keras
import layer_checks as checks
import numpy as np
import pytest
from keras import ops

from keras_transformer import LearnedPositionalEncoding, TokenEmbedding, set_value_checks
from keras_transformer.ops.values import trusted_ids

B, T, V, D = 3, 5, 11, 4
X = checks.array(B, T, D)


@pytest.fixture
def no_checks():
    set_value_checks(False)
    yield
    set_value_checks(True)


def embedding():
    layer = TokenEmbedding(V, D)
    layer.build()
    return layer


def learned():
    layer = LearnedPositionalEncoding(7)
    layer.build((B, T, D))
    return layer


def ids(wrong):
    return np.array([[1, V - 1, 0], [2, wrong, 0]])


@pytest.mark.parametrize("wrong", [-1, V, 2**33])
def test_ids_outside_of_the_table_raise(wrong):
    wrong = min(wrong, 2**31 - 1) if keras.backend.backend() == "jax" else wrong
    low, high = min(wrong, 0), max(wrong, V - 1)
    with pytest.raises(ValueError, match=rf"must hold ids in \[0, 11\). Received: ids from {low} to {high}. Was the"):
        embedding()(ops.convert_to_tensor(ids(wrong)))


@pytest.mark.parametrize("start", [3, -1])
def test_positions_outside_of_the_table_raise(start):
    message = rf"in \[0, 7\).*Received: positions from {start} to {start + 4}. Shorten the inputs"
    for index in (start, ops.convert_to_tensor(start, "int32")):
        with pytest.raises(ValueError, match=message):
            learned()(X, start_index=index)


def test_no_ids_pass():
    assert embedding()(np.zeros((0, 3), "int32")).shape == (0, 3, D)


@checks.tensorflow_only
def test_graphs_fail():
    import tensorflow as tf

    layer, positions = embedding(), learned()
    embed = tf.function(layer, input_signature=[tf.TensorSpec((None, None), "int32")])
    # The last one is caught by TensorFlow itself, on a CPU.
    for wrong in (-1, V):
        with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed|is not in"):
            embed(ids(wrong))
    assert embed(ids(3)).shape == (2, 3, D) and embed(ids(3)[:0]).shape == (0, 3, D)
    shift = tf.function(
        lambda x, i: positions(x, i), input_signature=[tf.TensorSpec((None, None, D)), tf.TensorSpec((), "int32")]
    )
    for start in (3, -1):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Positions must be in"):
            shift(X, start)
    np.testing.assert_array_equal(shift(X, 2), positions(X, start_index=2))


def test_compiled_calls():
    """XLA has no assertions: a program compiles, and computes what the documentation says."""
    layer, positions = embedding(), learned()
    right, wrong = ops.convert_to_tensor(ids(3)), ops.convert_to_tensor(ids(V))
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        compile_ = lambda f: tf.function(f, jit_compile=True)  # noqa: E731
    else:
        compile_ = checks.compiled
    embed, shift = compile_(lambda x: layer(x)), compile_(lambda x, i: positions(x, start_index=i))
    np.testing.assert_allclose(checks.numpy(embed(right)), checks.numpy(layer(right)), atol=1e-6)
    if keras.backend.backend() == "jax":
        assert np.isnan(checks.numpy(embed(wrong))[1, 1]).all()
    table = ops.convert_to_numpy(positions.embeddings)
    if keras.backend.backend() != "torch":
        found = shift(ops.convert_to_tensor(X), ops.convert_to_tensor(4, "int32"))
        np.testing.assert_allclose(checks.numpy(found), X + table[[4, 5, 6, 6, 6]], atol=1e-6)


def test_checks_can_be_turned_off(no_checks):
    found = learned()(X, start_index=3)
    assert found.shape == X.shape
    if keras.backend.backend() == "tensorflow":
        assert not assertions(embedding(), ids(1)) and not assertions(shifted(learned()), 1)


@checks.tensorflow_only
def test_trusted_ids_have_no_assertion():
    assert assertions(embedding(), ids(1)) == 1 and assertions(shifted(learned()), 1) == 1
    with trusted_ids():
        assert assertions(embedding(), ids(1)) == 0 and assertions(shifted(learned()), 1) == 1
    assert assertions(embedding(), ids(1)) == 1


def shifted(layer):
    return lambda start: layer(X, start_index=start)


def assertions(function, inputs):
    """Returns the number of assertions in the graph of a function of integers."""
    import tensorflow as tf

    inputs = ops.convert_to_tensor(inputs, "int32")
    made = tf.function(lambda x: function(x)).get_concrete_function(inputs).graph.as_graph_def()
    return sum(node.op == "Assert" for node in made.node)
