"""The recipe of the small language models of the tests."""

from dataclasses import replace

from zoo.language_modelling.recipes import SMALL

SIZES = dict(vocabulary_size=400, num_layers=1, hidden_dim=32, intermediate_dim=64, num_heads=2)
SCHEDULE = dict(steps=200, warmup_steps=20, peak_learning_rate=0.02, cooldown_steps=150, evaluate_every=100)
RECIPE = replace(
    SMALL,
    model=replace(SMALL.model, **SIZES),
    training=replace(SMALL.training, **SCHEDULE, batch_tokens=1024, max_tokens=32),
    source="invented",
)
