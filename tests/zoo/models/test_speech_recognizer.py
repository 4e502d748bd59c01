"""The recognizer of speech: padding, length, steps of decoding, and its loss."""

import itertools

import keras
import numpy as np
import pytest
from keras import ops

from zoo.models.speech_recognizer import SpeechRecognizer, relative_to_loudest
from zoo.recognition.loss import CTCAndTokenCrossEntropy
from zoo.speech_config import SpeechConfig

CONFIG = SpeechConfig(
    vocabulary_size=11,
    hidden_dim=16,
    intermediate_dim=32,
    num_heads=2,
    num_encoder_layers=2,
    num_decoder_layers=2,
    sampling_rate=8_000,
    num_mels=10,
    attention_window=3,
    normalize_first=True,
)
STEP = CONFIG.samples_per_step
SAMPLES = np.random.default_rng(0).normal(0, 0.1, (2, 20 * STEP)).astype("float32")
LENGTHS = np.array([20 * STEP, 7 * STEP - 50], "int32")
TARGET = np.array([[2, 5, 6, 7], [2, 8, 0, 0]], "int32")


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(3)
    model = SpeechRecognizer(CONFIG)
    model.build()
    return model


def numpy(x):
    return ops.convert_to_numpy(x)


def run(model, samples, lengths, target):
    return numpy(model({"samples": samples, "num_samples": lengths, "target": target}))


def test_recordings_do_not_depend_on_their_padding(model):
    together = run(model, np.pad(SAMPLES, ((0, 0), (0, 3 * STEP)), constant_values=9.0), LENGTHS, TARGET)
    assert together.shape == (2, 4 + 23, 11)
    for row, tokens in enumerate((4, 2)):
        alone = run(model, SAMPLES[row : row + 1, : LENGTHS[row]], LENGTHS[row : row + 1], TARGET[row : row + 1])[0]
        np.testing.assert_allclose(together[row, :tokens], alone[:tokens], atol=1e-5)
        steps = len(alone) - 4
        np.testing.assert_allclose(together[row, 4 : 4 + steps], alone[4:], atol=1e-5)
        rest = together[row, 4 + steps :]
        assert len(rest) and (rest[:, 0] == 0).all() and (rest[:, 1:] < -1_000).all(), "blank for certain"


def test_samples_of_16_bits(model):
    whole = (SAMPLES * 2**15).round().clip(-(2**15), 2**15 - 1).astype("int16")
    found, expected = (run(model, samples, LENGTHS, TARGET) for samples in (whole, SAMPLES))
    np.testing.assert_allclose(found, expected, atol=0.05)


def test_volume_does_not_matter(model):
    """Where nothing is as quiet as the floor of the logarithm."""
    found, expected = (run(model, factor * SAMPLES, LENGTHS, TARGET) for factor in (0.2, 1.0))
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_scale_of_frames():
    """The loudest is 1, a tenth of the energy 0.25 less, and the least -1; padding is 0, however loud."""
    x = np.log(np.array([[[1e-4, 1e-5], [1e-6, 1e-20], [9.0, 9.0]]], "float32"))
    expected = [[[1.0, 0.75], [0.5, -1.0], [0.0, 0.0]]]
    np.testing.assert_allclose(relative_to_loudest(x, np.array([[True, True, False]])), expected, atol=1e-5)


def test_encoder_computes_the_same_anywhere(model):
    """Apart from the loudest frame, a step depends on sound within the windows of the blocks only."""
    x = np.random.default_rng(1).normal(size=(1, 30, 16)).astype("float32")
    moved = np.concatenate([np.random.default_rng(2).normal(size=(1, 9, 16)).astype("float32"), x], 1)
    far = 2 * (CONFIG.attention_window - 1)
    found, expected = (numpy(model.encoder(each))[0] for each in (moved, x))
    np.testing.assert_allclose(found[9 + far :], expected[far:], atol=1e-5)
    assert np.abs(found[9] - expected[0]).max() > 1e-3


def test_steps_of_decoding_equal_teacher_forcing(model):
    expected = run(model, SAMPLES, LENGTHS, TARGET)[:, :4]
    step, state = model.step_function(2), model.memory_state(*model.encode(SAMPLES, LENGTHS), 2, 4)
    for t in range(4):
        logits, state = step(ops.repeat(TARGET[:, t], 2), state, t)
        np.testing.assert_allclose(numpy(logits)[0], expected[0, t], atol=1e-5)
        if t < 2:
            np.testing.assert_allclose(numpy(logits)[3], expected[1, t], atol=1e-5)


def log_prob_by_paths(logits, labels):
    """Sums the probabilities of all paths through the frames that give the labels."""
    log_probs = logits - np.logaddexp.reduce(logits, -1, keepdims=True)
    total = -np.inf
    for path in itertools.product({0, *labels}, repeat=len(logits)):
        if [token for token, _ in itertools.groupby(path) if token] == labels:
            total = np.logaddexp(total, sum(log_probs[t, token] for t, token in enumerate(path)))
    return total


def test_loss_is_the_sum_of_both():
    rng = np.random.default_rng(4)
    logits, labels = rng.normal(size=(3, 3 + 5, 7)).astype("float32"), [[4, 4, 3], [6, 3, 0], [0, 0, 0]]
    labels, weights = np.array(labels), np.array([0.5, 2.0, 1.0], "float32")
    found = float(CTCAndTokenCrossEntropy(0.3, end_id=3)(labels, logits, weights))
    expected = 0.0
    for row, weight in enumerate(weights[:2]):
        log_probs = logits[row] - np.logaddexp.reduce(logits[row], -1, keepdims=True)
        tokens = [label for label in labels[row] if label]
        decoder = -sum(log_probs[t, label] for t, label in enumerate(tokens))
        ctc = -log_prob_by_paths(logits[row, 3:], [label for label in tokens if label != 3])
        expected += weight * (0.7 * decoder + 0.3 * ctc)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_saved_and_loaded(model, tmp_path):
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(*(run(each, SAMPLES, LENGTHS, TARGET) for each in (loaded, model)), atol=1e-6)


def test_bars_only_in_training(model):
    inputs = {"samples": SAMPLES, "num_samples": LENGTHS, "target": TARGET}
    found = [numpy(model(inputs, training=training)) for training in (False, False, True)]
    np.testing.assert_array_equal(found[0], found[1])
    assert np.abs(found[2] - found[0]).max() > 1e-3
