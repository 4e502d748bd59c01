"""Named recipes for images."""

from zoo.config import Recipe
from zoo.image_config import ImageClassifierConfig
from zoo.training_config import ImageAugmentConfig, TrainingConfig

_SIZES = dict(hidden_dim=128, intermediate_dim=256, num_heads=4, activation="gelu", normalize_first=True)
_SCHEDULE = dict(warmup_steps=300, peak_learning_rate=1e-3, label_smoothing=0.1, evaluate_every=1000, score="accuracy")

SMALL = Recipe(
    ImageClassifierConfig(**_SIZES, num_layers=4, num_convolutions=3, dropout=0.1),
    TrainingConfig(
        **_SCHEDULE,
        batch_tokens=128,
        steps=8_200,
        cooldown_steps=7_500,
        average=3,
        image_augment=ImageAugmentConfig(flip=True, shift=4),
    ),
    source="Hassani et al. 2021, a compact convolutional Transformer; the schedule is ours, for an hour on two cores",
)

RECIPES = {"small": SMALL}
