"""Beam search over random tables."""

import numpy as np
import search_reference as ref
from keras import ops
from search_reference import MAX_LENGTH, SPECIAL

from keras_transformer.decoding import Hypotheses, beam_search

BATCH = 23
LIMITS = np.array([1, 2, 3, 4, 4] * 5)[:BATCH]


def search(tables, limits, beams, **kwargs):
    step, state = ref.table_step(tables, beams), ref.table_state(len(limits), beams)
    kwargs = {"max_length": MAX_LENGTH, **kwargs}
    result = beam_search(step, state, beam_size=beams, max_lengths=limits, **{**SPECIAL, **kwargs})
    return Hypotheses(*(ops.convert_to_numpy(x) for x in result))
