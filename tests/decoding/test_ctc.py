"""Tests of the search with a decoder and CTC, against the sum over all paths through the frames."""

import itertools

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.decoding import beam_search, with_ctc

BLANK, START, END, A, B = range(5)
SPECIAL = {"start_id": START, "end_id": END, "pad_id": BLANK}
FRAMES, LIMIT, SENTENCES, WIDE = 5, 4, 3, 20


def of_frames(seed=0, sentences=SENTENCES, frames=FRAMES):
    """Returns log-probabilities `[B, F, V]` of frames, which are never the start or the end."""
    logits = np.random.default_rng(seed).normal(0, 1.5, (sentences, frames, 5))
    logits[..., [START, END]] = -np.inf
    return np.log(np.maximum(np.exp(logits) / np.exp(logits).sum(-1, keepdims=True), 1e-30)).astype("float32")


def by_paths(log_probs):
    """Returns the log-probability of every text, the sum over the paths that give it, for one sentence."""
    found = {}
    for path in itertools.product((BLANK, A, B), repeat=len(log_probs)):
        text = tuple(token for token, _ in itertools.groupby(path) if token != BLANK)
        log_prob = sum(log_probs[t, token] for t, token in enumerate(path))
        found[text] = np.logaddexp(found.get(text, -np.inf), log_prob)
    return found


def of_decoder(seed=1):
    """Returns log-probabilities `[index, last token, V]`, the same for all sentences."""
    table = np.random.default_rng(seed).normal(0, 1.5, (LIMIT + 2, 5, 5))
    table[..., [BLANK, START]] = -1e9
    return (table - np.logaddexp.reduce(table, -1, keepdims=True)).astype("float32")


def run(log_probs, weight, beam_size=WIDE, limit=LIMIT + 1):
    table = ops.convert_to_tensor(of_decoder())

    def step(token_ids, state, index):
        return ops.take(ops.take(table, ops.minimum(index, LIMIT), axis=0), ops.cast(token_ids, "int32"), axis=0), state

    options = {"num_beams": beam_size, "start_id": START, "end_id": END}
    step, state = with_ctc(step, (), ops.convert_to_tensor(log_probs), weight, **options)
    limits = np.full(len(log_probs), limit, "int32")
    found = beam_search(
        step, state, beam_size=beam_size, max_lengths=limits, length_penalty=0.0, num_return=3, **SPECIAL
    )
    return keras.tree.map_structure(ops.convert_to_numpy, found)


def expected(log_probs, weight):
    """Returns all (score, ids) of one sentence, best first."""
    table, found = of_decoder(), []
    for text, log_prob in by_paths(log_probs).items():
        if len(text) > LIMIT:
            continue
        ids = *text, END
        decoder = sum(table[i, last, token] for i, (last, token) in enumerate(itertools.pairwise((START, *ids))))
        found.append(((1 - weight) * decoder + weight * log_prob, ids))
    return sorted(found, reverse=True)


@pytest.mark.parametrize("weight", [0.3, 1.0])
def test_a_wide_beam_finds_the_best_texts(weight):
    log_probs = of_frames()
    found = run(log_probs, weight)
    for sentence in range(SENTENCES):
        for slot, (score, ids) in enumerate(expected(log_probs[sentence], weight)[:3]):
            assert found.ids[sentence, slot, : len(ids)].tolist() == [*ids]
            np.testing.assert_allclose(found.scores[sentence, slot], score, rtol=1e-4, atol=1e-4)


def test_a_weight_of_0_is_the_decoder_alone():
    found, others = run(of_frames(), 0.0), run(of_frames(seed=9), 0.0)
    np.testing.assert_array_equal(found.ids, others.ids)
    np.testing.assert_allclose(found.scores, others.scores, rtol=1e-6)


def test_both_judges_matter():
    log_probs = of_frames()
    best = [[expected(one, weight)[0][1] for one in log_probs] for weight in (0.3, 1.0)]
    assert best[0] != best[1], "the frames are too certain"


def test_certain_blanks_change_nothing():
    """They stand for padding."""
    log_probs = of_frames()
    blank = np.full((SENTENCES, 6, 5), -1e9, "float32")
    blank[..., BLANK] = 0
    found, padded = run(log_probs, 0.5), run(np.concatenate([log_probs, blank], 1), 0.5)
    np.testing.assert_array_equal(found.ids, padded.ids)
    np.testing.assert_allclose(found.scores, padded.scores, rtol=1e-5)


def test_sentences_do_not_depend_on_the_batch():
    log_probs = of_frames()
    together = run(log_probs, 0.5, beam_size=3)
    for i in range(SENTENCES):
        alone = run(log_probs[i : i + 1], 0.5, beam_size=3)
        np.testing.assert_array_equal(alone.ids[0], together.ids[i])
        np.testing.assert_allclose(alone.scores[0], together.scores[i], rtol=1e-5)


def test_long_inputs():
    """2,000 frames that are certain: the text is read as it is, and its log-probability has no rounding errors."""
    rng = np.random.default_rng(3)
    text = [A, B, B, A, *rng.choice([A, B], 46).tolist()]
    path = np.zeros(2_000, int)
    path[np.arange(50) * 40 + 3] = text
    log_probs = np.full((1, 2_000, 5), np.log(0.01 / 4), "float32")
    log_probs[0, np.arange(2_000), path] = np.log(0.99)
    found = run(log_probs, 1.0, beam_size=3, limit=60)
    assert found.ids[0, 0].tolist()[:51] == [*text, END]
    assert found.scores[0, 0] < 0 and found.scores[0, 0] > 2_000 * np.log(0.99) - 1e-2


def test_invalid_weight():
    with pytest.raises(ValueError, match="weight=2"):
        with_ctc(None, (), np.zeros((1, 2, 3)), 2, num_beams=1, start_id=1, end_id=2)
