"""Named recipes for parsing."""

from zoo.config import ModelConfig, Recipe, SpanParserConfig, TrainingConfig

_TRAINING = dict(steps=5000, peak_learning_rate=0.0015, max_tokens=256, evaluate_every=500, average=3)
_SIZES = dict(num_layers=4, hidden_dim=256, intermediate_dim=512, num_heads=8, character_filters=128)
_NOISE = dict(label_smoothing=0.0, token_dropout=0.1)

SMALL = Recipe(
    SpanParserConfig(**_SIZES, vocabulary_size=8000, dropout=0.2, attention_dropout=0.1, normalize_first=True),
    TrainingConfig(**_TRAINING, **_NOISE, batch_tokens=2048, warmup_steps=300, cooldown_steps=4500, score="bracket_f1"),
    source="Ours, after Kitaev and Klein (2018), for some ten thousand trees on a CPU",
)

_LINEAR_SIZES = dict(num_encoder_layers=3, num_decoder_layers=3, hidden_dim=256, intermediate_dim=1024, num_heads=4)

LINEAR = Recipe(
    ModelConfig(**_LINEAR_SIZES, vocabulary_size=8000, dropout=0.3, normalize_first=True),
    TrainingConfig(**_TRAINING, batch_tokens=4096, warmup_steps=800, cooldown_steps=3000, score="bracket_f1"),
    source="Ours, after Vinyals et al. (2015) and Vaswani et al. (2017, section 6.3), for a CPU",
)

RECIPES = {"small": SMALL, "linear": LINEAR}
