"""A small detector with random weights, and random boxes."""

import keras
import numpy as np

from zoo.detection_config import DetectorConfig
from zoo.models.detector import Detector

CONFIG = DetectorConfig(
    hidden_dim=16,
    intermediate_dim=32,
    num_heads=2,
    num_encoder_layers=1,
    num_decoder_layers=2,
    image_rows=32,
    image_columns=48,
    channels=4,
    num_stages=2,
    num_residual_blocks=1,
    num_queries=5,
    query_groups=3,
    num_classes=2,
    dropout=0.0,
    normalize_first=True,
)


def make(config=CONFIG):
    keras.utils.set_random_seed(0)
    model, rng = Detector(config), np.random.default_rng(0)
    model.build()
    for weight in model.trainable_weights:
        weight.assign(np.asarray(weight) + 0.2 * rng.normal(size=weight.shape))
    return model


def random_boxes(rng, *shape):
    """Returns boxes as (centre x, centre y, width, height)."""
    return np.concatenate([rng.uniform(0.2, 0.8, (*shape, 2)), rng.uniform(0.05, 0.4, (*shape, 2))], -1)
