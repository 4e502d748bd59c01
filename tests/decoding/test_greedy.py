"""Tests of greedy search against a NumPy reference."""

import keras
import numpy as np
import pytest
import search_reference as ref
from keras import ops
from search_reference import END, MAX_LENGTH, PAD, SPECIAL, V

from keras_transformer.decoding import greedy_search

BATCH = 23
LIMITS = np.array([1, 2, 3, 4, 4] * 5)[:BATCH]


def search(tables, limits, **kwargs):
    step, state = ref.table_step(tables, 1), ref.table_state(len(limits), 1)
    return greedy_search(step, state, max_lengths=limits, **SPECIAL, **kwargs)


def test_equals_the_reference():
    tables = ref.random_tables(BATCH)
    ids, scores, log_probs, lengths = (ops.convert_to_numpy(x) for x in search(tables, LIMITS))
    assert ids.shape == (BATCH, 1, MAX_LENGTH) and lengths.shape == scores.shape == (BATCH, 1)
    for i, (table, limit) in enumerate(zip(tables, LIMITS)):
        score, expected = ref.greedy(table, limit)
        assert ids[i, 0].tolist() == ref.padded(expected)
        assert lengths[i, 0] == len(expected)
        np.testing.assert_allclose(log_probs[i, 0], score, rtol=1e-5)
    np.testing.assert_array_equal(scores, log_probs)
    assert len(set(lengths[LIMITS == MAX_LENGTH, 0])) > 1, "the tables are too easy"


def test_max_length_limits_every_sentence():
    tables = ref.random_tables(3)
    tables[..., END] = -20.0
    ids = ops.convert_to_numpy(search(tables, [4, 1, 9], max_length=2).ids)
    assert ids.shape == (3, 1, 2)
    assert ids[:, 0].argmax(-1).tolist() == [0, 0, 0] and ids[0, 0, 1] == ids[2, 0, 1] == END
    assert ids[1, 0].tolist() == [END, PAD]


def test_end_may_be_the_padding():
    logits = np.zeros((2, V), "float32")
    logits[0, PAD] = 5.0
    logits[1, 4] = 5.0

    def step(token_ids, state, index):
        return ops.convert_to_tensor(logits), state

    result = greedy_search(step, (), max_lengths=[3, 3], start_id=1, end_id=0, pad_id=0)
    assert ops.convert_to_numpy(result.lengths)[:, 0].tolist() == [1, 3]
    assert ops.convert_to_numpy(result.ids)[1, 0].tolist() == [4, 4, 0]


def test_compiled_and_with_an_unknown_batch():
    tables = ref.random_tables(5)
    eager = search(tables, LIMITS[:5])
    if keras.backend.backend() == "jax":
        import jax

        results = [jax.jit(lambda t, n: search(t, n, max_length=MAX_LENGTH))(tables, LIMITS[:5])]
    elif keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        def run(tables, limits, max_length=None):
            step, state = ref.table_step(tables, 1), ref.table_state(ops.shape(tables)[0], 1)
            return greedy_search(step, state, max_lengths=limits, **SPECIAL, max_length=max_length)

        signature = [tf.TensorSpec((None, *tables.shape[1:]), "float32"), tf.TensorSpec((None,), "int32")]
        inputs = tf.constant(tables), tf.constant(LIMITS[:5], tf.int32)
        results = [
            tf.function(run, input_signature=signature, autograph=False)(*inputs),
            tf.function(lambda t, n: run(t, n, MAX_LENGTH), jit_compile=True, autograph=False)(*inputs),
        ]
    else:
        pytest.skip("nothing to compile")
    for result in results:
        np.testing.assert_array_equal(result.ids, eager.ids)
        np.testing.assert_allclose(result.scores, eager.scores, rtol=1e-5)
