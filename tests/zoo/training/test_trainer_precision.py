"""Tests of training in half precision."""

import dataclasses
import itertools

import keras
import numpy as np
import pytest
from trainer_checks import CONFIG, corpus, history, make, make_real, stream, train, whole_batches

from zoo.corpora.batching import BatchStream
from zoo.storage.arrays import named_arrays
from zoo.training.trainer import Trainer


@pytest.fixture(scope="module")
def whole_losses(tmp_path_factory):
    """Losses of training in float32."""
    folder = tmp_path_factory.mktemp("whole")
    train(make(eager=False), whole_batches(), folder, steps=60, evaluate_every=20)
    return [line["train_loss"] for line in history(folder)]


@pytest.mark.parametrize("micro_batch_tokens", [0, 32])
@pytest.mark.parametrize("precision", ["mixed_bfloat16", "mixed_float16"])
def test_half_precision_trains(tmp_path, whole_losses, precision, micro_batch_tokens):
    changes = {"micro_batch_tokens": micro_batch_tokens, "precision": precision, "steps": 60, "evaluate_every": 20}
    trainer, mean = train(make(eager=False, dtype=precision), whole_batches(), tmp_path, **changes)
    scaled = isinstance(trainer.model.optimizer, keras.optimizers.LossScaleOptimizer)
    assert scaled == (precision == "mixed_float16")
    losses = [line["train_loss"] for line in history(tmp_path)]
    assert np.isfinite(losses).all() and losses[2] < losses[0] - 0.05
    assert all(array.dtype == np.float32 and np.isfinite(array).all() for array in mean.values())
    np.testing.assert_allclose(losses, whole_losses, rtol=0.02)


def test_overflow_skips_one_update_only(tmp_path):
    """The loss scale decreases, weights stay finite, and steps and positions follow the data."""
    model = make(dtype="mixed_float16")
    config = dataclasses.replace(CONFIG, precision="mixed_float16", steps=8)
    trainer = Trainer(model, config, tmp_path)
    trainer.model.optimizer.dynamic_scale.assign(2.0**40)
    trainer.fit(stream(trainer))
    assert trainer.step == 8
    assert float(trainer.model.optimizer.dynamic_scale) < 2.0**40
    assert all(np.isfinite(array).all() for array in named_arrays(model).values())
    expected = BatchStream(corpus(), 64, seed=3)
    assert len([*itertools.islice(expected, 9)]) == 9
    assert trainer.position == expected.position(8)


@pytest.mark.slow
def test_transformer_trains_in_half_precision_with_accumulation(tmp_path):
    model = make_real(dropout=True, precision="mixed_float16")
    _, mean = train(model, whole_batches(), tmp_path, precision="mixed_float16", micro_batch_tokens=32, steps=4)
    assert all(np.isfinite(array).all() for array in mean.values())
    assert np.isfinite([line["train_loss"] for line in history(tmp_path)]).all()
