"""Named recipes for parsing."""

from dataclasses import dataclass, field

from zoo.config import Recipe, SpanParserConfig, TrainingConfig


@dataclass(frozen=True)
class ParserRecipe(Recipe):
    """A span parser, its training, and where the numbers come from."""

    model: SpanParserConfig = field(default_factory=SpanParserConfig)


SMALL = ParserRecipe(
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

RECIPES = {"small": SMALL}
