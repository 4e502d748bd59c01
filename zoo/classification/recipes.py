"""Named recipes for classification."""

from zoo.config import ClassifierConfig, Recipe, TrainingConfig

_SIZES = dict(vocabulary_size=16_000, num_layers=2, hidden_dim=128, intermediate_dim=256, num_heads=4)
_SCHEDULE = dict(steps=1500, warmup_steps=200, cooldown_steps=1300, peak_learning_rate=0.001, evaluate_every=300)

SMALL = Recipe(
    ClassifierConfig(**_SIZES, dropout=0.3, normalize_first=True),
    TrainingConfig(**_SCHEDULE, batch_tokens=1024, max_tokens=512, token_dropout=0.2, average=3, score="accuracy"),
    source="Ours, for some thousand sentences on a CPU",
)

RECIPES = {"small": SMALL}
