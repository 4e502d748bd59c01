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
        num_queries=80,
        query_groups=1,
        two_stage=True,
        dropout=0.0,
        normalize_first=True,
    ),
    TrainingConfig(
        batch_tokens=8,
        steps=4_500,
        warmup_steps=300,
        cooldown_steps=2_500,
        peak_learning_rate=1e-3,
        ema=0.998,
        evaluate_every=500,
        average=3,
        score="ap50",
        box_augment=BoxAugmentConfig(flip=True, scale=0.4, colour=0.2),
    ),
    source="Carion et al. 2020 (DETR) in small, with queries from cells (Zhu et al. 2021; Zhou et al. 2019)",
)

RECIPES = {"small": SMALL}
