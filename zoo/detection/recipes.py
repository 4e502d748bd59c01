"""Named recipes for detection."""

from zoo.config import Recipe
from zoo.detection_config import DetectorConfig
from zoo.training_config import BoxAugmentConfig, TrainingConfig

_SIZES = dict(hidden_dim=128, intermediate_dim=512, num_heads=4, dropout=0.0, normalize_first=True)
_SCHEDULE = dict(warmup_steps=500, peak_learning_rate=5e-4, evaluate_every=250, score="ap50", average=3)

SMALL = Recipe(
    DetectorConfig(**_SIZES, query_groups=3),
    TrainingConfig(
        **_SCHEDULE,
        batch_tokens=8,
        steps=10_000,
        cooldown_steps=5_000,
        box_augment=BoxAugmentConfig(flip=True, scale=0.4, colour=0.2),
    ),
    source="Carion et al. 2020 (DETR) in small, with boxes of queries (Liu et al. 2022) and groups (Chen et al. 2023)",
)

RECIPES = {"small": SMALL}
