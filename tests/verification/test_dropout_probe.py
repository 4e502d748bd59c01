"""Tests of the probe that calls a model as `fit` does: dropout must act."""

import keras
import numpy as np
import pytest

from keras_transformer import Encoder, TokenEmbedding
from keras_transformer.verification import probes
from keras_transformer.verification.subject import Subject

BATCH = np.random.default_rng(1).integers(1, 30, (4, 10))
BATCH[1, 6:] = BATCH[2, 3:] = 0


class Subclassed(keras.Model):
    """An encoder in a model of one's own, whose `call` passes `training` on, or has it, or neither."""

    def __init__(self, dropout=0.5):
        super().__init__()
        self.embedding, self.encoder = TokenEmbedding(30, 16), Encoder(1, 2, 32, dropout=dropout)

    def call(self, ids, training=None):
        return self.encoder(self.embedding(ids), training=training)


class HasTraining(Subclassed):
    def call(self, ids, training=None):
        return self.encoder(self.embedding(ids))


class HasNone(Subclassed):
    def call(self, ids):
        return self.encoder(self.embedding(ids))


@pytest.mark.parametrize(
    ("model_class", "passed", "note"),
    [
        (Subclassed, True, ""),
        (HasTraining, keras.backend.backend() != "jax", "does not pass `training` on"),
        (HasNone, False, "has no argument `training`"),
    ],
)
def test_dropout_must_act_in_fit(model_class, passed, note):
    keras.utils.set_random_seed(1)
    tried = model_class()
    tried(BATCH)
    before = [np.array(variable) for variable in tried.variables]
    found = probes.training_argument(Subject(tried, BATCH))
    assert found.passed is passed and (passed or note in found.note), found
    for one, other in zip(before, tried.variables):
        np.testing.assert_array_equal(one, np.array(other))
    tried.compile(keras.optimizers.SGD(0.0), keras.losses.MeanSquaredError())
    targets = np.random.default_rng(0).normal(size=(*BATCH.shape, 16))
    fitted = tried.fit(BATCH, targets, verbose=0).history["loss"][0]
    assert (abs(fitted - tried.evaluate(BATCH, targets, verbose=0)) > 1e-3) is passed
    without = model_class(dropout=0.0)
    without(BATCH)
    assert probes.training_argument(Subject(without, BATCH)).passed is None
