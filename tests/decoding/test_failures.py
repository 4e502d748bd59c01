"""Tests of searches over logits that are no numbers, and of arguments that are no integers."""

import keras
import layer_checks as checks
import numpy as np
import pytest
from keras import ops

from keras_transformer import set_value_checks
from keras_transformer.decoding import beam_search, greedy_search, repeat_rows, sample

B, V, STEPS, START, END = 3, 7, 5, 2, 3
LIMITS = np.full(B, STEPS)
SPECIAL = {"start_id": START, "end_id": END, "pad_id": 0}
BAD = {"nan": np.nan, "inf": np.inf, "all -inf": -np.inf}


def step_of(bad, row, at):
    """Returns a step that never ends by itself; at step `at` sentence `row` has one bad logit, or only -inf."""
    sound = np.linspace(0, 1, V).astype("float32")
    sound[END] = -20.0
    broken = np.full(V, bad) if bad == -np.inf else np.where(np.arange(V) == 5, bad, sound)
    sound, broken = ops.convert_to_tensor(sound), ops.convert_to_tensor(broken.astype("float32"))

    def step(token_ids, state, index):
        here = ops.logical_and(ops.equal(state, row), ops.equal(index, at))
        return ops.where(here[:, None], broken[None], sound[None]), state

    return step


def searches(step):
    rows = ops.arange(B, dtype="int32")
    return {
        "greedy": lambda limits: greedy_search(step, rows, max_lengths=limits, max_length=STEPS, **SPECIAL),
        "sample": lambda limits: sample(step, rows, max_lengths=limits, max_length=STEPS, seed=1, **SPECIAL),
        "beam": lambda limits: beam_search(
            step, repeat_rows(rows, 2), beam_size=2, max_lengths=limits, max_length=STEPS, **SPECIAL
        ),
    }


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
@pytest.mark.parametrize("name", ["greedy", "sample", "beam"])
def test_unusable_logits_raise(name, bad):
    with pytest.raises(ValueError, match=r"NaN, inf or nothing but -inf at step 2 of sentence 1 \(both from 0\). Look"):
        searches(step_of(bad, 1, 2))[name](LIMITS)


@pytest.mark.parametrize("name", ["greedy", "sample", "beam"])
def test_some_tokens_may_be_impossible(name):
    def step(token_ids, state, index):
        impossible = ops.convert_to_tensor(np.where(np.arange(V) == 5, -np.inf, 0.0).astype("float32"))
        return ops.zeros((len(state), V)) + impossible, state

    found = searches(step)[name](LIMITS)
    assert np.isfinite(ops.convert_to_numpy(found.scores)).all() and not (ops.convert_to_numpy(found.ids) == 5).any()


@checks.tensorflow_only
@pytest.mark.parametrize("name", ["greedy", "beam"])
@pytest.mark.parametrize("known", [True, False])
def test_graphs_fail(name, known):
    """Also where finished sentences leave the batch, as they do where its size is unknown."""
    import tensorflow as tf

    limits = np.array([1, STEPS, STEPS], "int32")
    search = searches(step_of(np.nan, 1, 2))[name] if known else of_any_size(step_of(np.nan, 1, 2))[name]
    shape = (B,) if known else (None,)
    compiled = tf.function(search, autograph=False, input_signature=[tf.TensorSpec(shape, "int32")])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[Received: .* at step\] \[2\] \[of sentence\] \[1\]"):
        compiled(limits)
    assert compiled(np.array([1, 2, STEPS], "int32")).ids.shape[0] == B  # The second ends before the step.


def of_any_size(step):
    def rows(limits, beams):
        return repeat_rows(ops.arange(ops.shape(limits)[0], dtype="int32"), beams)

    return {
        "greedy": lambda n: greedy_search(step, rows(n, 1), max_lengths=n, max_length=STEPS, **SPECIAL),
        "beam": lambda n: beam_search(step, rows(n, 2), beam_size=2, max_lengths=n, max_length=STEPS, **SPECIAL),
    }


@pytest.mark.parametrize("name", ["greedy", "beam"])
def test_compiled_searches_mark_the_sentence(name):
    """Programs of XLA cannot fail: scores are NaN, and the other sentences are what they would be without it."""
    if keras.backend.backend() == "torch":
        pytest.skip("torch compiles nothing")
    expected = searches(step_of(np.nan, B, 2))[name](LIMITS)
    search = searches(step_of(np.nan, 1, 2))[name]
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        found = tf.function(search, jit_compile=True, autograph=False)(ops.convert_to_tensor(LIMITS, "int32"))
    else:
        found = checks.compiled(search)(ops.convert_to_tensor(LIMITS, "int32"))
    assert np.isnan(ops.convert_to_numpy(found.scores)[1]).all() and ops.convert_to_numpy(found.lengths)[1, 0] == 3
    for one, other in zip(found, expected):
        np.testing.assert_allclose(ops.convert_to_numpy(one)[[0, 2]], ops.convert_to_numpy(other)[[0, 2]], rtol=1e-5)


def test_the_check_can_be_turned_off():
    set_value_checks(False)
    try:
        searches(step_of(np.nan, 1, 2))["greedy"](LIMITS)
    finally:
        set_value_checks(True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"beam_size": 2.0}, "`beam_size` must be an integer of at least 1. Received: beam_size=2.0"),
        ({"num_return": 2.0}, "`num_return` must be an integer from 1 to 2. Received: num_return=2.0"),
        ({"beam_size": True}, "`beam_size` must be an integer of at least 1. Received: beam_size=True"),
        ({"max_lengths": [2.7] * B}, r"`max_lengths` must be integers \[B\].*Received: dtype=float.*Round"),
        ({"max_length": 2.7}, "`max_length` must be an integer of at least 1. Received: max_length=2.7"),
        ({"start_id": V}, "`start_id` must be an index of the vocabulary. Received: start_id=7 for logits of shape"),
    ],
)
def test_numbers_that_are_no_integers_of_their_range_raise(changes, message):
    def step(token_ids, state, index):
        return ops.zeros((2 * B, V)), state

    with pytest.raises(ValueError, match=message):
        beam_search(step, (), **{"beam_size": 2, "max_lengths": LIMITS, **SPECIAL, **changes})
