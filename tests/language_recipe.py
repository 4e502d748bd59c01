"""The recipe of the small language models of the tests."""

from zoo.config import LanguageModelConfig, Recipe, TrainingConfig

RECIPE = Recipe(
    LanguageModelConfig(
        vocabulary_size=400,
        num_layers=1,
        hidden_dim=32,
        intermediate_dim=64,
        num_heads=2,
        activation="swish",
        normalize_first=True,
        dropout=0.0,
    ),
    TrainingConfig(
        batch_tokens=1024,
        steps=200,
        warmup_steps=20,
        peak_learning_rate=0.02,
        cooldown_steps=150,
        evaluate_every=100,
        average=1,
        max_tokens=32,
        label_smoothing=0.0,
        score="loss",
        pieces="characters",
    ),
    source="invented",
)
