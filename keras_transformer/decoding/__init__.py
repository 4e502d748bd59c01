"""Greedy search, beam search and sampling over a step function, with constraints, and mask-predict."""

from keras_transformer.decoding.beam_search import beam_search, length_penalty, repeat_rows
from keras_transformer.decoding.constraints import constrained
from keras_transformer.decoding.ctc import with_ctc
from keras_transformer.decoding.greedy import greedy_search
from keras_transformer.decoding.hypotheses import Hypotheses, PerSentence, PerStep
from keras_transformer.decoding.mask_predict import mask_predict
from keras_transformer.decoding.repetition import count_repeats, with_repetition_penalty
from keras_transformer.decoding.sampling import sample, sample_steps

__all__ = [
    "Hypotheses",
    "PerSentence",
    "PerStep",
    "beam_search",
    "constrained",
    "count_repeats",
    "greedy_search",
    "length_penalty",
    "mask_predict",
    "repeat_rows",
    "sample",
    "sample_steps",
    "with_ctc",
    "with_repetition_penalty",
]
