"""Named recipes for parsing."""

from zoo.config import ModelConfig, Recipe, SpanParserConfig, TrainingConfig

SMALL = Recipe(
    model=SpanParserConfig(
        vocabulary_size=8000,
        num_layers=4,
        hidden_dim=256,
        intermediate_dim=512,
        num_heads=8,
        dropout=0.2,
        attention_dropout=0.1,
        normalize_first=True,
        character_filters=128,
    ),
    training=TrainingConfig(
        batch_tokens=2048,
        steps=5000,
        warmup_steps=300,
        peak_learning_rate=0.0015,
        cooldown_steps=4500,
        label_smoothing=0.0,
        token_dropout=0.1,
        max_tokens=256,
        evaluate_every=500,
        average=3,
        score="bracket_f1",
    ),
    source="Ours, after Kitaev and Klein (2018), for some ten thousand trees on a CPU",
)

LINEAR = Recipe(
    model=ModelConfig(
        vocabulary_size=8000,
        num_encoder_layers=3,
        num_decoder_layers=3,
        hidden_dim=256,
        intermediate_dim=1024,
        num_heads=4,
        dropout=0.3,
        normalize_first=True,
    ),
    training=TrainingConfig(
        batch_tokens=4096,
        steps=5000,
        warmup_steps=800,
        peak_learning_rate=0.0015,
        cooldown_steps=3000,
        label_smoothing=0.1,
        max_tokens=256,
        evaluate_every=500,
        average=3,
        score="bracket_f1",
    ),
    source="Ours, after Vinyals et al. (2015) and Vaswani et al. (2017, section 6.3), for a CPU",
)

RECIPES = {"small": SMALL, "linear": LINEAR}
