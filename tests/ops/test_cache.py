"""Tests of writing steps to a cache."""

import layer_checks as checks
import numpy as np
import pytest
from keras import ops

from keras_transformer.ops.cache import BlockCache, KVCache, write

ROWS, S, H, VALUE = 6, 7, 11, 13


@pytest.mark.parametrize("steps, index", [(1, 0), (1, 6), (5, 0), (5, 2)])
def test_write_replaces_the_steps_at_the_index(steps, index):
    old = KVCache(checks.array(ROWS, S, H), checks.array(ROWS, S, VALUE, seed=1))
    key, value = checks.array(ROWS, steps, H, seed=2), checks.array(ROWS, steps, VALUE, seed=3)
    jitted = checks.compiled(lambda cache, key, value, index: write(cache, key, value, index))
    for function in (write, jitted):
        new = function(KVCache(*map(ops.convert_to_tensor, old)), key, value, ops.convert_to_tensor(index, "int32"))
        for before, step, after in zip(old, (key, value), new):
            expected = before.copy()
            expected[:, index : index + steps] = step
            np.testing.assert_array_equal(checks.numpy(after), expected)


def test_write_keeps_the_dtype_of_the_cache():
    cache = KVCache(ops.zeros((ROWS, S, H), "bfloat16"), ops.zeros((ROWS, S, VALUE), "bfloat16"))
    new = write(cache, checks.array(ROWS, 1, H), checks.array(ROWS, 1, VALUE), 3)
    assert [x.dtype for x in new] == [x.dtype for x in cache]


def test_caches_are_tuples_that_loops_can_carry():
    inner = KVCache(1, 2)
    assert isinstance(inner, tuple) and isinstance(BlockCache(inner, inner), tuple)
    assert BlockCache(inner, KVCache(3, 4)).cross_attention.value == 4
