"""Named recipes for labelling."""

from zoo.config import Recipe, TaggerConfig, TrainingConfig

_SIZES = dict(num_layers=2, hidden_dim=128, intermediate_dim=256, num_heads=4, character_filters=128)
_SCHEDULE = dict(steps=3000, warmup_steps=300, cooldown_steps=2000, peak_learning_rate=0.002, evaluate_every=300)

SMALL = Recipe(
    TaggerConfig(**_SIZES, vocabulary_size=8000, dropout=0.2, normalize_first=True),
    TrainingConfig(**_SCHEDULE, batch_tokens=2048, max_tokens=256, average=3, score="accuracy"),
    source="Ours, for some ten thousand sentences on a CPU",
)

RECIPES = {"small": SMALL}
