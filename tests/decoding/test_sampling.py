"""Tests of samples against their distribution."""

import keras
import numpy as np
import pytest
import search_reference as ref
from keras import ops
from search_reference import END, MAX_LENGTH, SPECIAL, V

from keras_transformer.decoding import greedy_search, sample, sample_steps, with_repetition_penalty

BATCH = 4001
PROBS = np.array([0.1, 0.05, 0.06, 0.3, 0.07, 0.25, 0.17])  # Pad, start, end and four words.
FREE = np.array([0, 0, 1, 1, 1, 1, 1])


def first_tokens(seed=3, **kwargs):
    """Returns the first tokens of many samples, and checks their reported probabilities."""
    logits = np.tile(np.log(PROBS), (BATCH, 1)) + 3.0

    def step(token_ids, state, index):  # After the first step the end is certain.
        certain = np.where(np.arange(V) == END, 0.0, -np.inf)
        return ops.where(index == 0, ops.convert_to_tensor(logits, "float32"), certain), state

    result = sample(step, (), max_lengths=[2] * BATCH, **SPECIAL, seed=seed, **kwargs)
    log_probs, ids = ops.convert_to_numpy(result.log_probs)[:, 0], ops.convert_to_numpy(result.ids)[:, 0]
    np.testing.assert_allclose(np.exp(log_probs), PROBS[ids[:, 0]], rtol=1e-4)  # The model's own, never renormalised.
    return ids[:, 0]


def assert_distribution(tokens, expected):
    expected = expected / expected.sum()
    counts = np.bincount(tokens, minlength=V)
    assert (counts[expected == 0] == 0).all()
    kept = expected > 0
    chi_square = ((counts - BATCH * expected)[kept] ** 2 / (BATCH * expected)[kept]).sum()
    assert chi_square < 25, (counts, BATCH * expected)  # 4 degrees of freedom: probability 5e-5.


@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, PROBS * FREE),
        ({"temperature": 0.5}, PROBS**2 * FREE),
        ({"temperature": 2.0, "top_k": 100}, PROBS**0.5 * FREE),
        ({"top_k": 2}, PROBS * np.isin(np.arange(V), [3, 5])),
        # Of the free mass 0.85, the words 3, 5 and 6 hold 0.35, 0.65 and 0.85.
        ({"top_p": 0.66}, PROBS * np.isin(np.arange(V), [3, 5, 6])),
        ({"top_p": 0.64}, PROBS * np.isin(np.arange(V), [3, 5])),
        ({"top_p": 1e-6}, PROBS * np.isin(np.arange(V), [3])),
        # Among three words they hold 0.42 and 0.76; sharpened, 0.50 and 0.84.
        ({"top_k": 3, "top_p": 0.7}, PROBS * np.isin(np.arange(V), [3, 5])),
        ({"top_k": 3, "top_p": 0.45, "temperature": 0.5}, PROBS**2 * np.isin(np.arange(V), [3])),
    ],
)
def test_distribution(options, expected):
    assert_distribution(first_tokens(**options), expected)


def test_uniforms_equal_a_seed():
    uniforms = keras.random.uniform((2, BATCH), dtype="float32", seed=1)
    assert (first_tokens(seed=None, uniforms=uniforms) == first_tokens(seed=1)).all()


def test_seed_repeats_and_another_differs():
    assert (first_tokens(seed=1) == first_tokens(seed=1)).all()
    assert (first_tokens(seed=1) != first_tokens(seed=2)).any()
    generator = keras.random.SeedGenerator(1)
    assert (first_tokens(seed=generator) != first_tokens(seed=generator)).any()


def test_steps_are_independent_and_the_last_is_the_end():
    logits = np.where(np.isin(np.arange(V), [3, 4]), 0.0, -np.inf) + np.zeros((BATCH, 1))

    def step(token_ids, state, index):
        return ops.convert_to_tensor(logits, "float32"), state

    ids = ops.convert_to_numpy(sample(step, (), max_lengths=[3] * BATCH, **SPECIAL, seed=5).ids)[:, 0]
    assert (ids[:, 2] == END).all()
    pairs = np.bincount((ids[:, 0] - 3) * 2 + ids[:, 1] - 3, minlength=4)
    assert (abs(pairs - BATCH / 4) < 4.5 * np.sqrt(BATCH * 3 / 16)).all()


@pytest.mark.parametrize("options", [{"top_k": 1}, {"top_p": 1e-6}, {"temperature": 1e-4}])
def test_samples_of_one_token_are_greedy(options):
    tables, limits = ref.random_tables(23), np.array([1, 2, 3, 4, 4] * 5)[:23]
    step, state = ref.table_step(tables, 1), ref.table_state(23, 1)
    greedy = greedy_search(step, state, max_lengths=limits, **SPECIAL)
    sampled = sample(step, state, max_lengths=limits, **SPECIAL, seed=1, **options)
    for one, other in zip(greedy, sampled):
        np.testing.assert_allclose(ops.convert_to_numpy(one), ops.convert_to_numpy(other), rtol=1e-6)


def test_compiled_samples():
    tables, limits = ref.random_tables(5), np.array([1, 2, 3, 4, 4], "int32")

    def run(tables, limits, max_length=MAX_LENGTH):
        step, state = ref.table_step(tables, 1), ref.table_state(ops.shape(tables)[0], 1)
        options = {"top_p": 0.9, "top_k": 4, "temperature": 1.5, "seed": 7}
        return sample(step, state, max_lengths=limits, **SPECIAL, max_length=max_length, **options)

    eager = run(tables, limits)
    if keras.backend.backend() == "jax":
        import jax

        results = [jax.jit(run)(tables, limits)]
    elif keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        signature = [tf.TensorSpec((None, *tables.shape[1:]), "float32"), tf.TensorSpec((None,), "int32")]
        results = [
            tf.function(lambda t, n: run(t, n, None), input_signature=signature, autograph=False)(tables, limits),
        ]
        compiled = tf.function(
            run, jit_compile=True, autograph=False
        )  # XLA draws other numbers, the same at every call.
        once, again = (compiled(tf.constant(tables), tf.constant(limits)) for _ in range(2))
        np.testing.assert_array_equal(once.ids, again.ids)
        assert (once.lengths[:, 0] <= limits).numpy().all() and (once.lengths > 0).numpy().all()
    else:
        pytest.skip("nothing to compile")
    for result in results:
        np.testing.assert_array_equal(result.ids, eager.ids)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"temperature": 0}, "above 0. Received: temperature=0. .*`greedy_search`"),
        ({"top_k": -1}, "`top_k` must be an integer of at least 0. Received: top_k=-1"),
        ({"top_p": 0.0}, r"`top_p` must lie in \(0, 1\]. Received: top_p=0.0"),
        (
            {"seed": None},
            "Either `seed`, an integer.*or `uniforms` must.*Received: seed=None, uniforms missing",
        ),
        ({"uniforms": [[0.5], [0.5]]}, "Received: seed=1, uniforms too"),
    ],
)
def test_invalid_arguments_raise(changes, message):
    def step(token_ids, state, index):
        return ops.zeros((1, V)), state

    with pytest.raises(ValueError, match=message):
        sample(step, (), max_lengths=[2], **{**SPECIAL, "seed": 1, **changes})


def chain(width):
    """A step whose logits depend on the last token, the index, and a state that counts the steps."""
    table = np.random.default_rng(5).normal(size=(V, V)).astype("float32")

    def step(token_ids, state, index):
        shift = ops.cast(state + index, "float32")[:, None] * np.linspace(0, 1, V, dtype="float32")
        return ops.take(ops.convert_to_tensor(table), token_ids, axis=0) + shift, state + 1

    return step, ops.zeros((width,), "int32")


@pytest.mark.parametrize("options", [{}, {"temperature": 0.7, "top_k": 4}, {"top_p": 0.8}])
def test_steps_are_those_of_sample(options):
    uniforms = np.random.default_rng(6).random((6, 9)).astype("float32")
    step, state = chain(9)
    special = {"start_id": 1, "end_id": None, "pad_id": 0}
    whole = sample(step, state, max_lengths=[6] * 9, uniforms=uniforms, never=[END], **special, **options)
    tokens, found = np.full(9, 1), []
    for first in (0, 2, 3):
        part = uniforms[first : {0: 2, 2: 3, 3: 6}[first]]
        ids, state = sample_steps(step, state, tokens, first, part, never=[0, 1, END], **options)
        found.append(ops.convert_to_numpy(ids))
        tokens = found[-1][:, -1]
    np.testing.assert_array_equal(np.concatenate(found, axis=1), ops.convert_to_numpy(whole.ids)[:, 0])
    assert not np.isin(found[0], [0, 1, END]).any()
    assert (ops.convert_to_numpy(state) == 6).all()


def test_temperature_zero_takes_the_most_probable():
    step, state = chain(1)
    ids, _ = sample_steps(step, state, [0], 0, np.zeros((5, 1), "float32"), temperature=0, never=[0])
    expected = greedy_search(step, state, max_lengths=[5], start_id=0, end_id=None, pad_id=0)
    np.testing.assert_array_equal(ops.convert_to_numpy(ids), ops.convert_to_numpy(expected.ids)[:, 0])


def test_repetition_penalty_changes_the_logits_of_tokens_that_occurred():
    logits = np.array([[2.0, -2.0, 1.0, -1.0, 0.5, 0.0, 3.0]], "float32")
    seen = np.array([[False, True, True, False, False, False, False]])
    step, state = with_repetition_penalty(
        lambda ids, state, index: (logits, state), (), 2.0, ops.convert_to_tensor(seen)
    )
    first, state = step(ops.convert_to_tensor([6]), state, 0)
    np.testing.assert_allclose(first, [[2.0, -4.0, 0.5, -1.0, 0.5, 0.0, 1.5]])
    second, _ = step(ops.convert_to_tensor([3]), state, 1)
    np.testing.assert_allclose(second, [[2.0, -4.0, 0.5, -2.0, 0.5, 0.0, 1.5]])
    with pytest.raises(ValueError, match="`penalty` must be positive"):
        with_repetition_penalty(step, state, 0.0, seen)
