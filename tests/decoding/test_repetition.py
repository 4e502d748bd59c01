"""A hypothesis that repeats an n-gram too often can only end; all others are as without the limit."""

import numpy as np
import pytest
import search_reference as ref
from keras import ops
from search_checks import BATCH, LIMITS, search
from search_reference import END, MAX_LENGTH, SPECIAL, WORDS

from keras_transformer.decoding import beam_search, greedy_search, sample
from keras_transformer.decoding.repetition import LONGEST, count_repeats, extend_runs, is_loop, no_runs


def repeats(ids):
    """Returns how often the same n-gram stands at the end of a sequence in a row, for the n with the most."""
    counts = [1]
    for n in range(1, min(LONGEST, len(ids)) + 1):
        count = 1
        while len(ids) >= (count + 1) * n and ids[len(ids) - (count + 1) * n :][:n] == ids[len(ids) - n :]:
            count += 1
        counts.append(count)
    return max(counts)


def sequences(count, length, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.integers(4, 6, (count, length))
    for row, n in zip(rows, rng.integers(1, 10, count)):  # Two thirds of each are periodic.
        row[length // 3 :] = np.resize(row[:n], length - length // 3)
    return rows.astype("int32")


def test_runs_find_loops():
    rows = sequences(60, 40)
    for limit in (1, 2, 4):
        runs = no_runs(ops.convert_to_tensor(rows[:, 0]))
        for index in range(rows.shape[1]):
            runs = extend_runs(runs, rows, rows[:, index], index)
            found = ops.convert_to_numpy(is_loop(runs, np.full(len(rows), limit)))
            assert found.tolist() == [repeats(row[: index + 1].tolist()) > limit for row in rows]


def test_repeats_of_sources():
    rows = sequences(60, 30, seed=1)
    rows[::3, 20:] = 0
    expected = [max(repeats([i for i in row if i][:end]) for end in range(31)) for row in rows.tolist()]
    found = ops.convert_to_numpy(count_repeats(ops.convert_to_tensor(rows)))
    assert found.tolist() == expected and len({*expected}) > 5


def allowed(ids, limit):
    return all(repeats(ids[:i]) <= limit for i in range(1, len(ids) - 1))


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_wide_beam_finds_the_best_of_all_allowed_sequences(alpha):
    tables, changed = ref.random_tables(BATCH, seed=4, sharpness=4.0), 0
    tables[:, :, np.arange(ref.PREFIXES), np.arange(ref.PREFIXES) % ref.V] += 4.0  # The last word again.
    tables[:, :-1, :, END] -= 9.0
    limit = np.arange(BATCH) % 10 // 9 + 1
    found = search(tables, LIMITS, 64, length_penalty=alpha, max_repeats=limit)
    for row, (table, most) in enumerate(zip(tables, LIMITS)):
        options = ref.exhaustive(table, most, alpha)
        score, ids = next((score, ids) for score, ids in options if allowed([*ids], limit[row]))
        assert found.ids[row, 0].tolist() == ref.padded(ids)
        np.testing.assert_allclose(found.scores[row, 0], score, rtol=1e-5)
        changed += ids != options[0][1]
    assert changed > 2


def test_beams_that_are_no_loops_are_unchanged():
    tables = ref.random_tables(BATCH, seed=5)
    plain, limited = search(tables, LIMITS, 3), search(tables, LIMITS, 3, max_repeats=np.full(BATCH, 9))
    for expected, received in zip(plain, limited):
        np.testing.assert_array_equal(expected, received)


def test_greedy_search_and_sampling_end_loops():
    tables = ref.random_tables(BATCH, seed=6)
    tables[..., WORDS[0]] += 40.0  # The same word at every step.
    step, state = ref.table_step(tables, 1), ref.table_state(BATCH, 1)
    options = {"max_lengths": np.full(BATCH, MAX_LENGTH), **SPECIAL}
    repeated = np.arange(BATCH) % 3 + 1
    for found in (
        greedy_search(step, state, max_repeats=repeated, **options),
        sample(step, state, seed=1, max_repeats=repeated, **options),
    ):
        ids = ops.convert_to_numpy(found.ids)[:, 0].tolist()
        assert ids == [ref.padded([WORDS[0]] * min(3, r + 1) + [END]) for r in repeated]


def test_loops_end_by_a_token():
    step, state = ref.table_step(ref.random_tables(1), 1), ref.table_state(1, 1)
    special = {**SPECIAL, "end_id": None}
    with pytest.raises(ValueError, match="`max_repeats` ends hypotheses, which needs an end token"):
        beam_search(step, state, beam_size=1, max_lengths=[2], max_repeats=[1], **special)
