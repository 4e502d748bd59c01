"""Tests that `fit` under MirroredStrategy equals `fit` on one device: weights, loss and metrics."""

import contextlib
import pathlib

import keras
import layer_checks as checks
import numpy as np
import pytest
import worker_checks

from keras_transformer import (
    BatchNormalization,
    EncoderBlock,
    PositionalEncoding,
    PowerNormalization,
    Residual,
    TokenEmbedding,
)
from keras_transformer.training import TokenCrossEntropy, prepare_replicas

if keras.backend.backend() != "tensorflow":
    pytest.skip("tf.distribute belongs to TensorFlow", allow_module_level=True)

import tensorflow as tf
from strategies import REPLICAS, mirrored

V, LONGEST = 17, 9
# An odd first batch, one with fewer rows than replicas, and a last one that they do not divide.
ROWS = (7, 8, 1, 6, 3)


def examples(rows):
    """Yields batches of `rows` rows, short rows first, so that the replicas have different numbers of tokens."""
    rng = np.random.default_rng(0)
    for count in rows:
        lengths = np.sort(rng.integers(1, LONGEST + 1, count))
        ids = rng.integers(1, V, (count, lengths[-1])) * checks.lengths_mask(lengths, lengths[-1])
        yield ids.astype("int32"), (ids % (V - 1) + (ids > 0)).astype("int32")


def dataset(rows, once=False):
    """Returns a data set; with `once` one that cannot restart, like that of a Python iterator."""
    spec, stream = tf.TensorSpec((None, None), tf.int32), examples(rows)
    data = tf.data.Dataset.from_generator(lambda: stream if once else examples(rows), output_signature=(spec, spec))
    return data.apply(tf.data.experimental.assert_cardinality(len(rows)))


class PowerResidual(Residual):
    normalization_class = PowerNormalization


class PowerBlock(EncoderBlock):
    residual_class = PowerResidual


def tagger(precision="float32", block_class=EncoderBlock):
    """Returns a model with one block."""
    ids = keras.Input((None,), dtype="int32")
    x = PositionalEncoding(dtype=precision)(TokenEmbedding(V, 8, dtype=precision)(ids))
    return keras.Model(ids, keras.layers.Dense(V, dtype=precision)(block_class(2, 16, dtype=precision)(x)))


def small():
    return keras.Sequential([keras.layers.Embedding(V, 8), keras.layers.Dense(V)])  # Not built yet.


def compiled(replicas, make_model, loss=None, prepare=prepare_replicas):
    keras.utils.set_random_seed(3)
    with contextlib.nullcontext() if replicas == 1 else mirrored().scope():
        model = prepare(make_model())
        model.compile(keras.optimizers.SGD(0.3), loss or TokenCrossEntropy(0.1), metrics=["accuracy"])
    return model


def fit(model, rows, once=False, **arguments):
    """Fits the model; returns it with its losses and accuracies."""
    return model, model.fit(dataset(rows, once), verbose=0, shuffle=False, **arguments).history


def assert_same(found, expected, atol=1e-5):
    (model, history), (other, other_history) = found, expected
    for variable, wanted in zip(model.weights, other.weights, strict=True):
        np.testing.assert_allclose(checks.numpy(variable), checks.numpy(wanted), atol=atol, err_msg=variable.path)
    assert history.keys() == other_history.keys() >= {"loss", "accuracy"}
    for name, values in history.items():
        np.testing.assert_allclose(values, other_history[name], rtol=10 * atol, err_msg=name)


@pytest.fixture(scope="module")
def one_device():
    model = compiled(1, tagger)
    before = model.get_weights()
    model, history = fit(model, ROWS, epochs=4)
    assert model.optimizer.iterations == 20
    assert max(np.abs(new - old).max() for new, old in zip(model.get_weights(), before)) > 0.1
    return model, history


def test_weights_loss_and_metrics_equal_one_device(one_device):
    model, history = fit(compiled(REPLICAS, tagger), ROWS, epochs=4)
    assert_same((model, history), one_device)
    figures = [trained.evaluate(dataset(ROWS), verbose=0) for trained in (model, one_device[0])]
    np.testing.assert_allclose(*figures, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.long
def test_half_precision_differs_by_about_its_rounding(one_device):
    one, several = (fit(compiled(count, lambda: tagger("mixed_bfloat16")), ROWS, epochs=4) for count in (1, REPLICAS))
    rounding = max(np.abs(a - b).max() for a, b in zip(one[0].get_weights(), one_device[0].get_weights()))
    assert_same(several, one, atol=2 * rounding)
    assert rounding < 0.05


def test_statistics_of_power_normalization_equal_one_device():
    """They are of the batches of all replicas, of which one may be empty."""
    one, several = (fit(compiled(count, lambda: tagger(block_class=PowerBlock)), ROWS) for count in (1, REPLICAS))
    assert_same(several, one)
    changed = [variable for variable in one[0].weights if variable.name in ("nu", "moving_square")]
    assert len(changed) == 4 and all(np.ptp(checks.numpy(variable)) > 0 for variable in changed)


def test_batch_normalization_equals_one_device():
    """The statistics are of the batches of all replicas, of which one may be empty, and so are the gradients."""

    def normalized():
        x = keras.layers.Embedding(V, 8, mask_zero=True)(ids := keras.Input((None,), dtype="int32"))
        return keras.Model(ids, keras.layers.Dense(V)(BatchNormalization()(keras.layers.Dense(8)(x))))

    one, several = (fit(compiled(count, normalized), ROWS) for count in (1, REPLICAS))
    assert_same(several, one)
    mean = next(variable for variable in one[0].weights if variable.name == "moving_mean")
    assert np.ptp(checks.numpy(mean)) > 0


def test_iterators_lose_no_batch():
    one, several = (fit(compiled(count, small), (8, 4, 8), once=True, steps_per_epoch=3) for count in (1, REPLICAS))
    assert_same(several, one)


def test_keras_still_needs_preparation():
    """If one of these no longer fails, `prepare_replicas` can be simplified or removed."""
    unprepared = {"make_model": small, "prepare": lambda model: model}
    with pytest.raises(Exception, match="AddN must have the same size and shape"):
        fit(compiled(REPLICAS, **unprepared), (7,))
    with pytest.raises(UserWarning, match="ran out of data"):
        fit(compiled(REPLICAS, **unprepared), (8, 4, 8), once=True, steps_per_epoch=3)


def test_loss_of_keras_differs_from_one_device():
    """The tests above would fail so if the loss were a mean of means."""
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0)
    one, several = (fit(compiled(count, small, loss), (8, 8)) for count in (1, REPLICAS))
    assert np.abs(several[0].get_weights()[0] - one[0].get_weights()[0]).max() > 1e-3


_WORKER = """
import sys; sys.path[:0] = {paths!r}
import keras, numpy as np, tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
import test_replicas as checks
with strategy.scope():
    keras.utils.set_random_seed(3)
    model = checks.prepare_replicas(checks.tagger())
    model.compile(keras.optimizers.SGD(0.3), checks.TokenCrossEntropy(0.1), metrics=["accuracy"])
history = model.fit(checks.dataset(checks.ROWS), verbose=0, shuffle=False, epochs=4).history
history["evaluated"] = model.evaluate(checks.dataset(checks.ROWS), verbose=0)
np.savez(sys.argv[1], *model.get_weights(), **history)
"""


@pytest.mark.slow
def test_two_processes_equal_one_device(one_device, tmp_path):
    """Under MultiWorkerMirroredStrategy, where Keras 3.15's own `fit` raises an error."""
    folders = worker_checks.ROOT / "tests", worker_checks.ROOT / "tests" / "long", pathlib.Path(__file__).parent
    code = _WORKER.format(paths=[*map(str, folders)])
    processes = worker_checks.start(["-c", code, str(tmp_path / "found.npz")], "tensorflow", 2)
    for status, text in worker_checks.outcomes(processes, 300):
        assert status == 0, text
    model, history = one_device
    with np.load(tmp_path / "found.npz") as found:
        for number, expected in enumerate(model.get_weights()):
            np.testing.assert_allclose(found[f"arr_{number}"], expected, atol=1e-5)
        for name, values in history.items():
            np.testing.assert_allclose(found[name], values, rtol=1e-4, err_msg=name)
        np.testing.assert_allclose(found["evaluated"], model.evaluate(dataset(ROWS), verbose=0), rtol=1e-4)
