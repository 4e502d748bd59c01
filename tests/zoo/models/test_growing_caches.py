"""Searches whose caches grow with the steps, in graphs of unknown batch size, against those of a fixed size."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.decoding import beam_search, greedy_search, loop
from zoo.config import END_ID, PAD_ID, START_ID, ModelConfig
from zoo.models.compiling import compile_function
from zoo.models.seq2seq import Seq2Seq

SPECIAL = {"start_id": START_ID, "pad_id": PAD_ID}
SOURCE = np.array([[5, 6, 7, 8, 3], [9, 10, 3, 0, 0], [4, 4, 11, 3, 0], [12, 3, 0, 0, 0]], "int32")
LIMITS = np.array([20, 5, 13, 9], "int32")


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(3)
    sizes = {"hidden_dim": 8, "intermediate_dim": 16, "num_heads": 2, "vocabulary_size": 17}
    model = Seq2Seq(ModelConfig(**sizes, num_encoder_layers=1, num_decoder_layers=2))
    model.build()
    rng = np.random.default_rng(3)
    for weight in model.trainable_weights:
        weight.assign(weight + rng.normal(0, 0.3, weight.shape))
    return model


def search(model, source, limits, beams, width, end_id=END_ID):
    step, state = model.step_function(beams), model.init_state(source, beams)
    options = {"max_lengths": limits, "max_length": width, "end_id": end_id, **SPECIAL}
    if beams == 1:
        return greedy_search(step, state, **options)
    return beam_search(step, state, beam_size=beams, num_return=beams, **options)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="elsewhere all sizes are fixed")
@pytest.mark.parametrize(("beams", "width"), [(1, 20), (3, 20), (3, None), (3, 6)])
def test_same_hypotheses_as_with_room_for_all_steps(model, beams, width, monkeypatch):
    """Steps see 8, 16 and 20 slots; sentences that end leave the batch, at the same time or another."""
    monkeypatch.setattr(loop, "_ROOM", 8)
    found = compile_function(model, lambda source, limits: search(model, source, limits, beams, width))(SOURCE, LIMITS)
    expected = search(model, SOURCE, LIMITS, beams, width)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.lengths, expected.lengths)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-4)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="elsewhere all sizes are fixed")
def test_caches_have_room_for_few_steps_more_than_written(model, monkeypatch):
    import tensorflow as tf

    monkeypatch.setattr(loop, "_ROOM", 8)
    seen = []

    def decode(source, limits):
        one_step, state = model.step_function(2), model.init_state(source, 2)

        def step(token_ids, state, index):
            (past,), _, _ = state[1].tensors
            sizes = [tf.shape(state[0].tensors)[1], tf.shape(past[0].key)[1], index]
            tf.py_function(lambda *numbers: seen.append([*map(int, numbers)]), sizes, [])
            return one_step(token_ids, state, index)

        options = {"beam_size": 2, "max_lengths": limits, "max_length": 20, "end_id": None, **SPECIAL}
        return beam_search(step, state, **options).ids

    compile_function(model, decode)(SOURCE, np.full(4, 20, "int32"))
    rooms = [min(20, 8 * (index // 8 + 1)) for index in range(20)]
    assert seen == [[room, 2 * room, index] for index, room in enumerate(rooms)]


def test_greedy_search_is_the_argmax_of_the_full_call(model):
    """Sees what a cache that lost or moved steps while it grew would change; there is room for 16 and 20."""
    call = compile_function(model, lambda source, limits: search(model, source, limits, 1, 20, end_id=None).ids)
    found = ops.convert_to_numpy(call(SOURCE, np.full(4, 20, "int32")))[:, 0]
    target = np.concatenate([np.full((4, 1), START_ID), found[:, :-1]], axis=1)
    logits = ops.convert_to_numpy(model({"source": ops.array(SOURCE), "target": ops.array(target)}))
    logits[..., [PAD_ID, START_ID]] = -np.inf
    np.testing.assert_array_equal(logits.argmax(-1), found)
