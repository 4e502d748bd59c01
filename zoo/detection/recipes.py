"""Named recipes for detection."""

from zoo.config import Recipe
from zoo.detection_config import DetectorConfig
from zoo.training_config import BoxAugmentConfig, TrainingConfig

SMALL = Recipe(
    DetectorConfig(
        hidden_dim=128,
        intermediate_dim=256,
        num_heads=4,
        num_encoder_layers=2,
        num_decoder_layers=3,
        num_residual_blocks=1,
        query_groups=3,
        dropout=0.0,
        normalize_first=True,
    ),
    TrainingConfig(
        batch_tokens=8,
        steps=6_500,
        warmup_steps=300,
        cooldown_steps=3_500,
        peak_learning_rate=1e-3,
        ema=0.998,
        evaluate_every=500,
        average=3,
        score="ap50",
        box_augment=BoxAugmentConfig(flip=True, scale=0.4, colour=0.2),
    ),
    source="Carion et al. 2020 (DETR) in small, with boxes of queries (Liu et al. 2022) and groups (Chen et al. 2023)",
)

RECIPES = {"small": SMALL}
