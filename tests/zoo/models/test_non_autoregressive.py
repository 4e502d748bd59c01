"""NonAutoregressive: all steps see each other, padding changes nothing, and losses are those of both heads."""

import dataclasses

import keras
import numpy as np
import pytest
from keras import ops

from zoo.config import NonAutoregressiveConfig
from zoo.models.non_autoregressive import NonAutoregressive
from zoo.translation.length_loss import LengthAndTokenCrossEntropy

CONFIG = NonAutoregressiveConfig(
    vocabulary_size=17,
    num_encoder_layers=1,
    num_decoder_layers=2,
    hidden_dim=6,
    intermediate_dim=11,
    num_heads=3,
    dropout=0.2,
    max_length_change=9,  # 20 classes, more than tokens.
)
SOURCE = np.array([[5, 6, 7, 8, 3], [9, 10, 3, 0, 0]])
TARGET = np.array([[2, 7, 2, 9, 10, 11], [2, 13, 14, 0, 0, 0]])
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(1)
    model = NonAutoregressive(CONFIG)
    model.build()
    rng = np.random.default_rng(1)
    for weight in model.trainable_weights:
        weight.assign(weight + rng.normal(0, 0.3, weight.shape))
    return model


def logits(model, source=SOURCE, target=TARGET):
    return ops.convert_to_numpy(model({"source": source, "target": target}))


def test_each_step_sees_all_others(model):
    before = logits(model)[0, 1:]
    for step in range(6):
        changed = TARGET.copy()
        changed[0, step] = 5
        assert (np.abs(logits(model, target=changed)[0, 1:] - before).max(-1) > 1e-4).all()


def test_padding_changes_nothing(model):
    alone = logits(model, SOURCE[1:, :3], TARGET[1:, :3])
    np.testing.assert_allclose(logits(model)[1, :4], alone[0], **CLOSE)


def test_lengths_are_predicted_from_the_mean_of_the_memory(model):
    memory = ops.convert_to_numpy(model.encode(SOURCE))
    kernel, bias = map(ops.convert_to_numpy, model.length_head.weights)
    for row, length in enumerate([5, 3]):
        expected = memory[row, :length].mean(0) @ kernel + bias
        np.testing.assert_allclose(logits(model)[row, 0], expected, **CLOSE)
    assert (logits(model)[:, 1:, 17:] < -999).all()  # Classes of lengths are no tokens.


def test_a_fixed_length_has_no_head():
    model = NonAutoregressive(dataclasses.replace(CONFIG, lengths="fixed"))
    model.build()
    assert model.length_head is None and logits(model).shape == (2, 6, 17)


@pytest.mark.parametrize("num_lengths", [20, 0])
def test_loss_against_numpy(num_lengths):
    rng, smoothing = np.random.default_rng(3), 0.1
    steps = 6 + (num_lengths > 0)
    given = rng.normal(size=(2, steps, max(17, num_lengths))).astype("float32")
    labels = rng.integers(1, 17, (2, steps)) * rng.integers(0, 2, (2, steps))
    labels[:, 0] = [19, 4] if num_lengths else [4, 4]
    loss = LengthAndTokenCrossEntropy(num_lengths, 17, label_smoothing=smoothing, reduction="sum")
    expected = 0.0
    for row in range(2):
        for step in range(steps):
            head = num_lengths and step == 0
            z = given[row, step, : num_lengths if head else 17].astype("float64")
            log_probs = z - np.log(np.exp(z).sum())
            share = 0.0 if head else smoothing
            if labels[row, step]:
                expected -= (1 - share) * log_probs[labels[row, step]] + share * log_probs.mean()
    assert float(loss(labels, given)) == pytest.approx(expected, rel=1e-5)
    again = LengthAndTokenCrossEntropy.from_config(loss.get_config())
    assert float(again(labels, given)) == float(loss(labels, given))


def test_saved_and_loaded(model, tmp_path):
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(logits(loaded), logits(model))


def test_ids_outside_of_the_vocabulary_raise(model):
    with pytest.raises(ValueError, match="target"):
        logits(model, target=np.full((2, 3), 17))
