"""Named recipes for images."""

from zoo.config import Recipe
from zoo.image_config import ImageClassifierConfig
from zoo.training_config import ImageAugmentConfig, TrainingConfig

_SIZES = dict(activation="gelu", normalize_first=True, num_convolutions=3)
_SCHEDULE = dict(batch_tokens=128, label_smoothing=0.1, evaluate_every=1000, score="accuracy")

SMALL = Recipe(
    ImageClassifierConfig(**_SIZES, hidden_dim=128, intermediate_dim=256, num_heads=4, num_layers=4, dropout=0.1),
    TrainingConfig(
        **_SCHEDULE,
        warmup_steps=300,
        peak_learning_rate=1e-3,
        steps=8_200,
        cooldown_steps=7_500,
        average=3,
        image_augment=ImageAugmentConfig(flip=True, shift=4),
    ),
    source="Hassani et al. 2021, a compact convolutional Transformer; the schedule is ours, for an hour on two cores",
)

BASE = Recipe(
    ImageClassifierConfig(
        **_SIZES,
        hidden_dim=256,
        intermediate_dim=512,
        num_heads=8,
        num_layers=2,
        channel_growth=2,
        num_residual_blocks=1,
        convolution_normalization="batch",
        dropout=0.0,
    ),
    TrainingConfig(
        **_SCHEDULE,
        warmup_steps=1_500,
        peak_learning_rate=2.5e-3,
        steps=11_500,
        cooldown_steps=10_000,
        weight_decay=0.05,
        average=1,
        image_augment=ImageAugmentConfig(flip=True, shift=4, cutout=8),
        precision="mixed_bfloat16",
    ),
    source="Ours, for 75 minutes of two cores that have bfloat16: more convolutions, fewer blocks (Xiao et al. 2021)",
)

RECIPES = {"small": SMALL, "base": BASE}
