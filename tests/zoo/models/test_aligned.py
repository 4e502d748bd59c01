"""Aligned outputs of NonAutoregressive: what the decoder reads, what it is shown in training, and the loss."""

import dataclasses
import itertools

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.training import ctc_alignment
from zoo.config import NonAutoregressiveConfig
from zoo.models.non_autoregressive import NonAutoregressive
from zoo.translation.length_loss import AlignmentLoss, parallel_loss

CONFIG = NonAutoregressiveConfig(
    vocabulary_size=9,
    num_encoder_layers=1,
    num_decoder_layers=2,
    hidden_dim=6,
    intermediate_dim=11,
    num_heads=3,
    dropout=0.0,
    lengths="aligned",
    positions_per_token=3,
    glancing=0.6,
)
SOURCE = np.array([[5, 6, 7, 8, 3], [4, 8, 3, 0, 0]])
TARGET = np.array([[7, 7, 4, 5, 6, 3], [8, 4, 3, 0, 0, 0]])
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def made(dtype="float32", **changes):
    keras.utils.set_random_seed(1)
    model = NonAutoregressive(dataclasses.replace(CONFIG, **changes), dtype=dtype)
    model.build()
    rng = np.random.default_rng(1)
    for weight in model.trainable_weights:
        weight.assign(weight + rng.normal(0, 0.3, weight.shape))
    return model


@pytest.fixture(scope="module")
def model():
    return made()


def logits(model, source=SOURCE, target=TARGET, training=False):
    return ops.convert_to_numpy(model({"source": source, "target": target}, training=training))


def of_positions(model, positions, source=SOURCE):
    """Returns logits by the layers themselves: each position reads its id and the vector of its source token."""
    memory = ops.convert_to_numpy(model.encode(source))
    x = ops.convert_to_numpy(model.embed(positions)) + np.repeat(memory, 3, axis=1)
    masks = {"inputs_mask": positions != 0, "memory_mask": source != 0, "use_causal_mask": False}
    return ops.convert_to_numpy(model.logits(model.decoder(x, memory, **masks)))


def test_each_source_token_has_positions(model):
    masked = np.repeat(np.where(SOURCE, 2, 0), 3, axis=1)
    found = logits(model)
    assert found.shape == (2, 15, 9)
    np.testing.assert_allclose(found[masked > 0], of_positions(model, masked)[masked > 0], **CLOSE)
    probabilities = ops.convert_to_numpy(ops.softmax(found[masked == 0]))
    assert (probabilities == (np.arange(9) == 3)).all()  # Blank for certain.


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_a_text_that_does_not_fit_has_no_place_in_the_padding(dtype):
    """The second row has 9 positions, and 6 behind them for the first one."""
    model, loss = made(dtype=dtype), parallel_loss(CONFIG)
    target = np.zeros((2, 11), "int32")
    target[:, :10] = [5, 6] * 5
    found = [
        float(loss(target[rows], model({"source": SOURCE[rows], "target": target[rows]}))) for rows in ([0], [0, 1])
    ]
    assert found[0] > 1 and found[1] == pytest.approx(found[0], rel=1e-2)


def test_the_target_and_padding_change_nothing_outside_of_training(model):
    np.testing.assert_array_equal(logits(model), logits(model, target=TARGET[:, ::-1]))
    np.testing.assert_allclose(logits(model)[1, :9], logits(model, SOURCE[1:, :3], TARGET[1:])[0], **CLOSE)


def test_training_shows_a_share_of_what_was_wrong(model, monkeypatch):
    """Positions of the most probable alignment, more of them the worse the first prediction was."""
    rows = 300
    source, target = np.repeat(SOURCE, rows, axis=0), np.repeat(TARGET, rows, axis=0)
    seen, decode = [], model.decode
    monkeypatch.setattr(model, "decode", lambda *args: (seen.append(ops.convert_to_numpy(args[0])), decode(*args))[1])
    found = logits(model, source, target, training=True)
    masked, shown = seen
    first = logits(model, source, target)
    path = ops.convert_to_numpy(ctc_alignment(np.where(target, target, 3), first, 3))
    assert ((shown == masked) | (shown == path)).all()
    hidden = shown == 2
    np.testing.assert_allclose(found[hidden], of_positions(model, shown, source)[hidden], **CLOSE)
    certain = ops.convert_to_numpy(ops.softmax(found[~hidden]))
    assert (certain == (path[~hidden][:, None] == np.arange(9))).all(), "what is shown, and padding"
    for half, width in ((slice(rows), 15), (slice(rows, None), 9)):
        wrong = np.mean(np.argmax(first[half], -1)[:, :width] != path[half][:, :width])
        share = np.mean(shown[half][:, :width] != masked[half][:, :width])
        assert wrong > 0.2
        assert share == pytest.approx(0.6 * wrong, abs=3 * np.sqrt(0.25 / (rows * width)))
    again = logits(model, source, target, training=True)
    assert np.abs(again - found).max() > 1e-3, "others are shown each time"


@pytest.mark.parametrize("imputed", [1.0, 0.4])
def test_training_shows_any_share_of_some_texts(imputed, monkeypatch):
    """With a uniform share r of k positions, each number from 0 to k has the probability 1 / (k + 1)."""
    rows, width = 2000, 15
    model, seen = made(imputed=imputed, glancing=0.0), []
    decode = model.decode
    monkeypatch.setattr(model, "decode", lambda *args: (seen.append(ops.convert_to_numpy(args[0])), decode(*args))[1])
    logits(model, np.repeat(SOURCE[:1], rows, axis=0), np.repeat(TARGET[:1], rows, axis=0), training=True)
    counts = np.bincount((seen[1] != 2).sum(axis=1), minlength=width + 1) / rows
    expected = np.full(width + 1, imputed / (width + 1)) + (1 - imputed) * (np.arange(width + 1) == 0)
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected * (1 - expected) / rows)).all()


def test_nothing_is_shown_of_what_is_right(model):
    """A target that the first prediction has got right."""
    target = [_merged(logits(model)[0].argmax(-1))]
    assert 0 not in target[0], "the row must be a text"
    found = logits(model, SOURCE[:1], np.array(target), training=True)
    np.testing.assert_allclose(found, logits(model, SOURCE[:1]), **CLOSE)


def test_without_glancing_training_predicts_once():
    model = made(glancing=0.0)
    assert model.seed_generator is None and made(glancing=0.0, imputed=0.2).seed_generator is not None
    np.testing.assert_allclose(logits(model, training=True), logits(model), **CLOSE)


def test_loss_is_that_of_all_alignments():
    rng = np.random.default_rng(3)
    given = rng.normal(size=(4, 4, 5)).astype("float32")
    texts = [[4, 1, 3], [1, 1, 3], [3, 0, 0], [0, 0, 0]]
    log_probs = given - np.logaddexp.reduce(given, -1, keepdims=True)
    expected = []
    for row, text in zip(log_probs[:2], texts):
        paths = (path for path in itertools.product(range(5), repeat=4) if _merged(path) == text[:2])
        expected.append(-np.logaddexp.reduce([sum(row[range(4), path]) for path in paths]))
    loss = parallel_loss(CONFIG)
    assert float(loss(np.array(texts), given)) == pytest.approx(sum(expected), rel=1e-5)
    weights = np.array([2.0, 0.5, 7.0, 0.0])
    weighted = float(loss(np.array(texts), given, sample_weight=weights))
    assert weighted == pytest.approx(2 * expected[0] + 0.5 * expected[1], rel=1e-5)
    assert isinstance(AlignmentLoss.from_config(loss.get_config()), AlignmentLoss)


def _merged(path):
    return [token for token, _ in itertools.groupby(path) if token != 3]


def test_saved_and_loaded(model, tmp_path):
    model.save(tmp_path / "model.keras")
    np.testing.assert_array_equal(logits(keras.models.load_model(tmp_path / "model.keras")), logits(model))
