"""Named recipes for classification."""

from zoo.config import ClassifierConfig, Recipe, TrainingConfig

SMALL = Recipe(
    model=ClassifierConfig(
        vocabulary_size=16000,
        num_layers=2,
        hidden_dim=128,
        intermediate_dim=256,
        num_heads=4,
        dropout=0.3,
        normalize_first=True,
    ),
    training=TrainingConfig(
        batch_tokens=1024,
        steps=1500,
        warmup_steps=200,
        peak_learning_rate=0.001,
        cooldown_steps=1300,
        label_smoothing=0.1,
        token_dropout=0.2,
        max_tokens=512,
        evaluate_every=300,
        average=3,
        score="accuracy",
    ),
    source="Ours, for some thousand sentences on a CPU",
)

RECIPES = {"small": SMALL}
