"""Tests of searches compiled by TensorFlow and JAX against the same searches run eagerly."""

import keras
import numpy as np
import pytest
import search_reference as ref
from keras import ops
from search_checks import BATCH, LIMITS, search
from search_reference import END, MAX_LENGTH, SPECIAL

from keras_transformer.decoding import beam_search, greedy_search


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="needs a graph for any batch size")
@pytest.mark.parametrize("search_name", ["beam", "greedy"])
def test_finished_sentences_leave_the_batch(search_name):
    """Half of the sentences end at the first step, one each after two and three steps, two at the limit."""
    import tensorflow as tf

    limits, sizes = np.array([1, 4, 1, 2, 1, 1, 4, 3]), []
    tables = ref.random_tables(8, seed=8)
    tables[..., END] = -40.0

    @tf.function(input_signature=[tf.TensorSpec((None,), "int32")])
    def run(limits):
        beams = 2 if search_name == "beam" else 1
        table_step = ref.table_step(tables, beams)

        def step(token_ids, state, index):
            tf.py_function(lambda size: sizes.append(int(size) // beams), [tf.size(token_ids)], [])
            return table_step(token_ids, state, index)

        state = ref.table_state(ops.shape(limits)[0], beams)
        arguments = {"max_lengths": limits, "max_length": MAX_LENGTH, **SPECIAL}
        if search_name == "greedy":
            return greedy_search(step, state, **arguments)
        return beam_search(step, state, beam_size=2, length_penalty=0.0, **arguments)

    found = run(tf.constant(limits, "int32"))
    assert sizes == [8, 4, 3, 2]
    if search_name == "beam":
        np.testing.assert_array_equal(found.ids, search(tables, limits, 2, length_penalty=0.0).ids)
    np.testing.assert_array_equal(found.lengths[:, 0], limits)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="needs tf.function")
@pytest.mark.parametrize("compiled", [False, True])
def test_inside_tf_function(compiled):
    import tensorflow as tf

    batch, beams = 5 if compiled else BATCH, 3
    tables, limits = ref.random_tables(BATCH, seed=2), LIMITS[:BATCH]
    signature = [tf.TensorSpec((None, *tables.shape[1:]), "float32"), tf.TensorSpec((None,), "int32")]

    @tf.function(jit_compile=compiled, input_signature=None if compiled else signature)
    def run(tables, limits):
        step, state = ref.table_step(tables, beams), ref.table_state(ops.shape(tables)[0], beams)
        width = MAX_LENGTH if compiled else None
        return beam_search(step, state, beam_size=beams, max_lengths=limits, **SPECIAL, num_return=2, max_length=width)

    for size in (batch, 2):
        result = run(tf.constant(tables[:size]), tf.constant(limits[:size], tf.int32))
        width = MAX_LENGTH if compiled else max(limits[:size])
        eager = search(tables[:size], limits[:size], beams, num_return=2, max_length=width)
        assert result.ids.shape == (size, 2, width)
        np.testing.assert_array_equal(result.ids, eager.ids)
        np.testing.assert_allclose(result.scores, eager.scores, rtol=1e-5)
        if compiled:
            break


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="needs jax.jit")
def test_inside_jax_jit():
    import jax

    tables, beams = ref.random_tables(BATCH, seed=2), 3

    def run(tables, limits, max_length=MAX_LENGTH):
        step, state = ref.table_step(tables, beams), ref.table_state(BATCH, beams)
        return beam_search(
            step, state, beam_size=beams, max_lengths=limits, **SPECIAL, num_return=2, max_length=max_length
        )

    result = jax.jit(run)(tables, LIMITS)
    with pytest.raises(ValueError, match="must be a Python integer"):
        jax.jit(lambda t, n: run(t, n, None))(tables, LIMITS)
    eager = search(tables, LIMITS, beams, num_return=2)
    np.testing.assert_array_equal(result.ids, eager.ids)
    np.testing.assert_allclose(result.scores, eager.scores, rtol=1e-5)
