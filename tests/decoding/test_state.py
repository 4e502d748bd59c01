"""Tests of states with several rows for each sentence."""

import layer_checks as checks
import numpy as np
import pytest
from keras import ops

from keras_transformer.decoding import PerSentence
from keras_transformer.decoding.hypotheses import check_state, take_sentences

STATE = {"beams": np.arange(12).reshape(6, 2), "kept": PerSentence((np.arange(3), np.arange(6)))}


def test_rows_of_a_sentence_stay_together():
    taken = take_sentences(check_state(STATE, 3, num_beams=2), ops.convert_to_tensor([2, 0]), 3)
    np.testing.assert_array_equal(checks.numpy(taken["beams"]), [[8, 9], [10, 11], [0, 1], [2, 3]])
    one, two = taken["kept"].tensors
    np.testing.assert_array_equal(checks.numpy(one), [2, 0])
    np.testing.assert_array_equal(checks.numpy(two), [4, 5, 0, 1])


@pytest.mark.parametrize("rows", [2, 4, 5])
def test_different_numbers_of_rows_raise(rows):
    with pytest.raises(ValueError, match=r"as many rows for each sentence, \[3 \* n, ...\]. Received: shape="):
        check_state(PerSentence(np.zeros((rows, 2))), 3, num_beams=2)
