"""Named recipes for labelling."""

from zoo.config import Recipe, TaggerConfig, TrainingConfig

SMALL = Recipe(
    model=TaggerConfig(
        vocabulary_size=8000,
        num_layers=2,
        hidden_dim=128,
        intermediate_dim=256,
        num_heads=4,
        dropout=0.2,
        normalize_first=True,
        character_filters=128,
    ),
    training=TrainingConfig(
        batch_tokens=2048,
        steps=3000,
        warmup_steps=300,
        peak_learning_rate=0.002,
        cooldown_steps=2000,
        label_smoothing=0.1,
        max_tokens=256,
        evaluate_every=300,
        average=3,
        score="accuracy",
    ),
    source="Ours, for some ten thousand sentences on a CPU",
)

RECIPES = {"small": SMALL}
