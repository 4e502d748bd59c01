"""Mask-predict against a loop over single tokens."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.decoding import mask_predict

PAD, MASK, END, VOCABULARY, WIDTH = 0, 2, 3, 13, 11


def table(seed, sharpness=3.0):
    """Returns random logits `[L, V, V]` by position and token of the step before, for a model that reads its inputs."""
    return (sharpness * np.random.default_rng(seed).normal(size=(WIDTH, VOCABULARY, VOCABULARY))).astype("float32")


def step_of(logits):
    """Each position sees the token before and, cyclically, the one behind."""

    rows = ops.convert_to_tensor(logits.reshape(-1, VOCABULARY))

    def step(ids, places):
        first = VOCABULARY * ops.arange(ops.shape(ids)[1], dtype="int32")
        before = ops.take(rows, first + ops.roll(ids, 1, axis=1), axis=0)
        after = ops.flip(ops.take(rows, first + ops.roll(ids, -1, axis=1), axis=0), axis=-1)
        return ops.take(ops.reshape(before + 0.5 * after, (-1, VOCABULARY)), places, axis=0)

    return step


def reference(logits, length, iterations, end=None, never=(), blank=None):
    """One row, token by token, from the equation."""
    ids, values = np.full(WIDTH, PAD), np.zeros(WIDTH)
    ids[:length] = MASK
    kept, masked = length, [*range(length)]
    for t in range(iterations):
        count = kept * (iterations - t) // iterations
        decided = [blank is not None and i not in masked for i in range(kept)]
        order = sorted(range(kept), key=lambda i: (decided[i], blank is None or ids[i] != blank, values[i]))
        masked = order[:count] + [*range(kept, length)]
        shown = ids.copy()
        shown[masked] = MASK
        for i in masked:
            row = logits[i, shown[i - 1]].astype("float64") + 0.5 * logits[i, shown[(i + 1) % WIDTH]][::-1]
            log_probs = row - np.log(np.exp(row - row.max()).sum()) - row.max()
            allowed = [v for v in range(VOCABULARY) if v == end or v not in (PAD, MASK, *never)]
            ids[i] = max(allowed, key=lambda v: log_probs[v])
            values[i] = log_probs[ids[i]]
        if end is not None:
            kept = ([*ids[:length]].index(end) + 1) if end in ids[:length] else length
    ids[kept:], values[kept:] = PAD, 0
    return ids, values


@pytest.mark.parametrize("iterations", [1, 2, 4, 15])
@pytest.mark.parametrize("end", [None, END])
@pytest.mark.parametrize("blank", [None, 7])
def test_equals_a_loop_over_tokens(iterations, end, blank):
    lengths = np.array([11, 1, 7, 4, 11, 9])
    changed = 0
    for seed in range(3):
        logits, never = table(seed), (5,) if end else (END, 5)
        options = {"lengths": lengths, "mask_id": MASK, "end_id": end, "never": never, "blank_id": blank}
        options["max_length"] = WIDTH
        ids, values = mask_predict(step_of(logits), iterations=iterations, **options)
        for row, length in enumerate(lengths):
            expected, scores = reference(logits, length, iterations, end, never, blank)
            assert [*ops.convert_to_numpy(ids)[row]] == [*expected]
            np.testing.assert_allclose(ops.convert_to_numpy(values)[row], scores, atol=2e-5)
            changed += iterations > 1 and [*expected] != [*reference(logits, length, 1, end, never)[0]]
    assert changed > 2 or iterations == 1  # Later iterations matter.


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="widths that are known at run time only")
@pytest.mark.parametrize("lengths", [[11, 1, 7, 4, 11, 9], [1, 2, 1], [3]])
def test_graphs_ask_for_masked_places_only(lengths):
    import tensorflow as tf

    asked, step = tf.Variable(0), step_of(table(1))

    def counted(ids, places):
        asked.assign_add(tf.size(places))
        return step(ids, places)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
    def search(lengths):
        return mask_predict(counted, lengths=lengths, max_length=tf.reduce_max(lengths), iterations=4, mask_id=MASK)

    found = search(tf.constant(lengths))
    expected = mask_predict(step, lengths=lengths, max_length=max(lengths), iterations=4, mask_id=MASK)
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other, atol=1e-6)
    assert int(asked) == sum(n * (4 - t) // 4 for n in lengths for t in range(4))


def test_ends_at_the_first_end():
    logits = np.zeros((WIDTH, VOCABULARY, VOCABULARY), "float32")
    logits[..., 7] = 5.0
    logits[4:, :, END] = 9.0
    options = {"lengths": [WIDTH], "mask_id": MASK, "end_id": END, "iterations": 3}
    ids, _ = mask_predict(step_of(logits), **options)
    assert [*ops.convert_to_numpy(ids)[0]] == [7, 7, 7, 7, END] + [PAD] * 6


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"iterations": 0}, "`iterations` must be an integer of at least 1"),
        ({"iterations": 2.5}, "`iterations` must be an integer"),
        ({"mask_id": -1}, "`mask_id` must be a non-negative integer"),
        ({"never": (40,)}, "with a V above 40"),
        ({"lengths": [3.5]}, "must be integers"),
    ],
)
def test_bad_arguments(changed, message):
    options = {"lengths": [4], "mask_id": MASK, "iterations": 2, **changed}
    with pytest.raises(ValueError, match=message):
        mask_predict(step_of(table(1)), **options)
