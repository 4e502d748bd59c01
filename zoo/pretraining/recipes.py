"""Named recipes for pretraining."""

from zoo.config import EncoderConfig, Recipe, TrainingConfig

SMALL = Recipe(
    model=EncoderConfig(
        vocabulary_size=8000,
        num_layers=2,
        hidden_dim=128,
        intermediate_dim=512,
        num_heads=4,
        dropout=0.1,
        activation="gelu",
        normalize_first=True,
    ),
    training=TrainingConfig(
        batch_tokens=8192,
        steps=5000,
        warmup_steps=500,
        peak_learning_rate=0.002,
        cooldown_steps=3000,
        label_smoothing=0.0,
        max_tokens=128,
        evaluate_every=500,
        average=1,
        score="loss",
    ),
    source="Ours, after Devlin et al. (2019): a tiny BERT for some million words on a CPU",
)

RECIPES = {"small": SMALL}
