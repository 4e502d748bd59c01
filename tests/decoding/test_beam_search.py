"""Tests of beam search against exhaustive search and a beam search in NumPy."""

import keras
import numpy as np
import pytest
import search_reference as ref
from keras import ops
from search_checks import BATCH, LIMITS, search
from search_reference import END, MAX_LENGTH, PAD, SPECIAL, WORDS, V

from keras_transformer.decoding import (
    PerSentence,
    beam_search,
    greedy_search,
    length_penalty,
    repeat_rows,
)

ALPHAS = (-0.5, 0.0, 0.6, 1.0)
WIDE = len(WORDS) ** (MAX_LENGTH - 1) + 1  # More beams than prefixes, and than tokens.


def assert_matches(result, expected, alpha):
    """Compares with `expected`, all (score, ids) of each sentence, best first; further slots must be empty."""
    slots = result.ids.shape[1]
    for sentence, best in enumerate(expected):
        for slot, (score, ids) in enumerate(best[:slots]):
            assert result.ids[sentence, slot].tolist() == ref.padded(ids, result.ids.shape[2])
            np.testing.assert_allclose(result.scores[sentence, slot], score, rtol=1e-5, atol=1e-6)
            log_prob = score * ref.penalty(len(ids), alpha)
            np.testing.assert_allclose(result.log_probs[sentence, slot], log_prob, rtol=1e-5, atol=1e-6)
            assert result.lengths[sentence, slot] == len(ids)
        for slot in range(len(best), slots):
            assert result.lengths[sentence, slot] == 0
            assert (result.ids[sentence, slot] == PAD).all()
            assert result.scores[sentence, slot] < -1e29


@pytest.mark.parametrize("alpha", ALPHAS)
def test_wide_beam_finds_the_best_of_all_sequences(alpha):
    tables = ref.random_tables(BATCH, seed=1)
    result = search(tables, LIMITS, WIDE, length_penalty=alpha, num_return=7)
    assert_matches(result, [ref.exhaustive(t, n, alpha) for t, n in zip(tables, LIMITS)], alpha)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("beams, num_return", [(1, 1), (3, 2)])
def test_equals_a_beam_search_that_never_stops_early(alpha, beams, num_return):
    """Narrow beams miss the optimum, which tests the order of beams, their states and the stop."""
    tables = ref.random_tables(BATCH, seed=2)
    tables[::2, :3, :, END] -= 4  # Half of the sentences prefer to be long.
    tables[::2, 3, :, END] += 4
    result = search(tables, LIMITS, beams, length_penalty=alpha, num_return=num_return)
    expected = [ref.beam(t, n, alpha, beams) for t, n in zip(tables, LIMITS)]
    assert_matches(result, expected, alpha)
    best = [ref.exhaustive(t, n, alpha)[0] for t, n in zip(tables, LIMITS)]
    assert any(e[0] != b for e, b in zip(expected, best)), "the tables are too easy"


def test_sentences_do_not_depend_on_the_batch():
    tables = ref.random_tables(BATCH, seed=3, sharpness=1.0)
    together = search(tables, LIMITS, 3, num_return=2)
    for i in (0, 2, 8):
        alone = search(tables[i : i + 1], LIMITS[i : i + 1], 3, num_return=2, max_length=int(LIMITS[i]))
        width = LIMITS[i]
        assert alone.ids.shape == (1, 2, width)
        np.testing.assert_array_equal(alone.ids[0], together.ids[i, :, :width])
        assert (together.ids[i, :, width:] == PAD).all()
        np.testing.assert_allclose(alone.scores[0], together.scores[i], rtol=1e-6)


def count_call(calls):
    """Appends to `calls` when a step runs; JAX compiles the loop, and calls its Python body only once."""
    if keras.backend.backend() == "jax":
        import jax

        jax.debug.callback(lambda: calls.append(1), ordered=True)
    else:
        calls.append(1)


@pytest.mark.parametrize(
    "alpha, limit, end, expected",
    [(0.0, 9, 0.55, 1), (-0.5, 9, 0.55, 1), (-0.5, 200, 0.3, 2), (1.0, 9, 0.55, 2), (1.0, 200, 0.55, 8)],
)
def test_stops_once_no_beam_can_win(alpha, limit, end, expected):
    """The end has probability 0.95 after the first step; with alpha > 0 long beams can win for more steps."""
    first, later = np.full((2, V), 1e-9)
    first[[END, 3]], later[[END, 3]] = (end, 1 - end), (0.95, 0.05)
    calls = []

    def step(token_ids, state, index):
        count_call(calls)
        return ops.where(index == 0, np.log(first), np.log(later))[None], state

    result = beam_search(step, (), beam_size=1, max_lengths=[limit], **SPECIAL, length_penalty=alpha)
    score = ops.convert_to_numpy(result.scores)[0, 0]
    finished, alive, steps = -np.inf, 0.0, 0
    while steps < limit and finished < alive / max(ref.penalty(steps + 1, alpha), ref.penalty(limit, alpha)):
        probs = later if steps else first
        steps += 1
        if probs[END] >= probs[3] or steps == limit:
            finished = max(finished, (alive + np.log(probs[END])) / ref.penalty(steps, alpha))
        alive += np.log(probs[3])
    assert len(calls) == steps == expected
    np.testing.assert_allclose(score, finished, rtol=1e-5)


@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_fewer_needed_hypotheses_are_the_best_and_take_fewer_steps(alpha):
    tables, needed = ref.random_tables(BATCH, seed=4), np.arange(BATCH) % 3 + 1
    tables[..., END] += 2
    options = {"length_penalty": alpha, "num_return": 3}
    full, found = (search(tables, LIMITS, 3, **options, num_needed=n) for n in (None, needed))
    for i, count in enumerate(needed):
        np.testing.assert_array_equal(found.ids[i, :count], full.ids[i, :count])
        np.testing.assert_allclose(found.scores[i, :count], full.scores[i, :count], rtol=1e-6)
    steps = []
    for number in (1, 3):
        calls, step = [], ref.table_step(tables[4:5], 3)

        def counted(token_ids, state, index, step=step, calls=calls):
            count_call(calls)
            return step(token_ids, state, index)

        beam_search(
            counted, ref.table_state(1, 3), beam_size=3, max_lengths=[4], num_needed=[number], **SPECIAL, **options
        )
        steps.append(len(calls))
    assert steps[0] < steps[1]


def test_beam_of_one_without_length_penalty_is_greedy_search():
    tables = ref.random_tables(BATCH, seed=4)
    result = search(tables, LIMITS, 1, length_penalty=0.0)
    arguments = {"max_lengths": LIMITS, "max_length": MAX_LENGTH, **SPECIAL}
    greedy = greedy_search(ref.table_step(tables, 1), ref.table_state(BATCH, 1), **arguments)
    np.testing.assert_array_equal(result.ids, ops.convert_to_numpy(greedy.ids))
    np.testing.assert_array_equal(result.lengths, ops.convert_to_numpy(greedy.lengths))
    np.testing.assert_allclose(result.scores, ops.convert_to_numpy(greedy.scores), rtol=1e-5, atol=1e-6)


def test_improbable_end_is_not_admitted():
    """Ending at once has the best score, yet its probability 0.2 is below that of both kept words."""
    tables = np.full((1, MAX_LENGTH, ref.PREFIXES, V), -50.0, "float32")
    tables[0, 0, 0, [END, 3, 4]] = np.log([0.2, 0.4, 0.4])
    tables[0, 1:3, :, [3, 4]] = np.log(0.5)
    tables[0, 3, :, END] = 0.0
    result = search(tables, [MAX_LENGTH], 2, length_penalty=0.0)
    assert ref.exhaustive(tables[0], MAX_LENGTH, 0.0)[0][1] == (END,)
    assert result.lengths[0, 0] == MAX_LENGTH


def test_tokens_without_probability_are_used_last():
    """Logits of -inf for all tokens but one still give a hypothesis, without padding."""
    tables = np.full((1, MAX_LENGTH, ref.PREFIXES, V), -np.inf, "float32")
    tables[..., 5] = 0.0
    result = search(tables, [3], 2)
    assert result.ids[0, 0].tolist() in ([END, 0, 0, 0], [5, END, 0, 0], [5, 5, END, 0])
    assert np.isfinite(result.scores).all()


def test_start_may_be_the_end_token():
    tables = ref.random_tables(2, seed=6)
    step, state = ref.table_step(tables, 3), ref.table_state(2, 3)
    result = beam_search(step, state, beam_size=3, max_lengths=[4, 3], start_id=END, end_id=END, pad_id=PAD)
    ids, lengths = ops.convert_to_numpy(result.ids)[:, 0], ops.convert_to_numpy(result.lengths)[:, 0]
    for row, length in zip(ids, lengths):
        assert row[length - 1] == END and END not in row[: length - 1]


def test_half_precision_logits_are_summed_in_float32():
    logits = np.zeros((1, V))

    def step(token_ids, state, index):
        return ops.cast(ops.convert_to_tensor(logits), "bfloat16"), state

    result = beam_search(step, (), beam_size=1, max_lengths=[1], **SPECIAL)
    assert keras.backend.standardize_dtype(result.log_probs.dtype) == "float32"
    np.testing.assert_allclose(ops.convert_to_numpy(result.log_probs), -np.log(V), rtol=1e-6)


def test_length_penalty_is_equation_14_of_gnmt():
    np.testing.assert_allclose(ops.convert_to_numpy(length_penalty(7, 0.6)), 2**0.6, rtol=1e-6)
    np.testing.assert_allclose(ops.convert_to_numpy(length_penalty(7, -1.0)), 0.5, rtol=1e-6)
    np.testing.assert_allclose(ops.convert_to_numpy(length_penalty(np.array([1, 50]), 0.0)), [1, 1])


def test_repeat_rows_is_beam_minor():
    repeated = repeat_rows({"a": ops.convert_to_tensor([[1, 2], [3, 4]])}, 3)["a"]
    assert ops.convert_to_numpy(repeated)[:, 0].tolist() == [1, 1, 1, 3, 3, 3]


@pytest.mark.parametrize("beams", [1, 3])
def test_fixed_length_without_an_end(beams):
    """Enumerates all sequences of words and ends, since the end is a token like any other here."""
    tables = ref.random_tables(BATCH, seed=7)
    result = search(tables, LIMITS, beams, length_penalty=0.6, end_id=None)
    for table, limit, ids, log_prob in zip(tables, LIMITS, result.ids[:, 0], result.log_probs[:, 0]):
        log_probs, alive = ref.log_softmax(table), [(0.0, ())]
        for index in range(limit):
            extended = [(p + log_probs[index, ref.code(y), w], (*y, w)) for p, y in alive for w in (*WORDS, END)]
            alive = sorted(extended, reverse=True)[:beams]
        assert ids.tolist() == ref.padded(alive[0][1])
        np.testing.assert_allclose(log_prob, alive[0][0], rtol=1e-5)
    assert (result.lengths[:, 0] == LIMITS).all()
    if beams == 1:
        arguments = {**SPECIAL, "end_id": None, "max_lengths": LIMITS, "max_length": MAX_LENGTH}
        greedy = greedy_search(ref.table_step(tables, 1), ref.table_state(BATCH, 1), **arguments)
        np.testing.assert_array_equal(ops.convert_to_numpy(greedy.ids), result.ids)


def flat_step(rows, size=V):
    return lambda token_ids, state, index: (ops.zeros((rows, size)), state)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"beam_size": 0}, "`beam_size` must be .* at least 1. Received: beam_size=0"),
        ({"num_return": 3}, "`num_return` must be an integer from 1 to 2. Received: num_return=3.*use a wider beam"),
        ({"length_penalty": float("nan")}, "`length_penalty` must be finite"),
        ({"end_id": -1}, "`end_id` must be a non-negative integer"),
        ({"end_id": 9}, "`end_id` must be an index of the vocabulary. Received: end_id=9"),
        ({"max_lengths": [[3]]}, r"`max_lengths` must be integers \[B\]"),
        ({"max_lengths": [0]}, "`max_lengths` must be at least 1"),
        ({"max_length": 0}, "`max_length` must be an integer of at least 1. Received: max_length=0"),
        ({"state": np.zeros((1, 3))}, r"must have one row per hypothesis, \[2, ...\]"),
        ({"state": PerSentence(np.float32(0))}, r"must have as many rows for each sentence, \[1 \* n, ...\]"),
        ({"step": flat_step(3)}, r"`step` must return logits \[rows, V\]"),
        ({"step": lambda t, s, i: (ops.zeros((2, V)), ops.zeros((2, 4)))}, "shapes and dtypes it received"),
    ],
)
def test_invalid_arguments_raise(changes, message):
    arguments = {
        "step": flat_step(2),
        "state": np.zeros((2, 3), "float32"),
        "beam_size": 2,
        "max_lengths": [3],
    }
    with pytest.raises(ValueError, match=message):
        beam_search(**{**arguments, **SPECIAL, **changes})
