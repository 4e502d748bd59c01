"""Tests of the image classifier on several replicas."""

import contextlib

import keras
import numpy as np
import pytest

from zoo.image_config import ImageClassifierConfig
from zoo.models.image_classifier import ImageClassifier
from zoo.training.trainer import Trainer
from zoo.training_config import TrainingConfig

if keras.backend.backend() != "tensorflow":
    pytest.skip("tf.distribute belongs to TensorFlow", allow_module_level=True)

from strategies import mirrored

CONFIG = ImageClassifierConfig(
    hidden_dim=16,
    intermediate_dim=32,
    num_heads=2,
    num_layers=1,
    image_size=8,
    inner_dim=8,
    num_residual_blocks=1,
    convolution_normalization="batch",
    dropout=0.0,
    num_classes=3,
)
TRAINING = TrainingConfig(
    batch_tokens=7, steps=4, warmup_steps=2, peak_learning_rate=1e-2, cooldown_steps=2, evaluate_every=4, average=1
)


def batches(rows):
    random = np.random.default_rng(1)
    while True:
        images = random.integers(1, 255, (rows, 8, 8, 3)).astype("uint8")
        yield {"images": images, "labels": random.integers(0, 3, rows).astype("int32")}


def split(batch):
    return {"images": batch["images"]}, batch["labels"]


def trained(strategy, folder):
    keras.utils.set_random_seed(1)
    with strategy.scope() if strategy else contextlib.nullcontext():
        model = ImageClassifier(CONFIG)
        model.build()
    Trainer(model, TRAINING, folder, split=split, pad_label=-1).fit(batches(7))
    return {weight.path: np.asarray(weight) for weight in model.weights}


@pytest.mark.slow
def test_batch_statistics_leave_out_rows_that_complete_a_batch(tmp_path):
    """Two replicas do not divide seven images."""
    one, several = trained(None, tmp_path / "one"), trained(mirrored(), tmp_path / "several")
    statistics = [path for path in one if "/moving_" in path]
    assert len(statistics) == 8
    for path in statistics:
        np.testing.assert_allclose(several[path], one[path], rtol=1e-3, atol=1e-3, err_msg=path)
