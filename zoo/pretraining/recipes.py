"""Named recipes for pretraining."""

from zoo.config import EncoderConfig, Recipe, TrainingConfig

_SIZES = dict(vocabulary_size=8000, num_layers=2, hidden_dim=128, intermediate_dim=512, num_heads=4)
_SCHEDULE = dict(steps=5000, warmup_steps=500, cooldown_steps=3000, peak_learning_rate=0.002, evaluate_every=500)

SMALL = Recipe(
    EncoderConfig(**_SIZES, dropout=0.1, activation="gelu", normalize_first=True),
    TrainingConfig(**_SCHEDULE, batch_tokens=8192, max_tokens=128, label_smoothing=0.0, average=1, score="loss"),
    source="Ours, after Devlin et al. (2019): a tiny BERT for some million words on a CPU",
)

RECIPES = {"small": SMALL}
