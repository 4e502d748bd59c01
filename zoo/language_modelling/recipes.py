"""Named recipes for language models."""

from dataclasses import replace

from zoo.config import LanguageModelConfig, Recipe, TrainingConfig

_SIZES = dict(hidden_dim=128, num_layers=4, num_heads=4, intermediate_dim=344, activation="swish", normalize_first=True)
_SCHEDULE = dict(steps=2000, warmup_steps=100, cooldown_steps=1800, peak_learning_rate=4e-3, evaluate_every=500)
_CHARACTERS = dict(label_smoothing=0.0, average=1, score="loss", pieces="characters")

SMALL = Recipe(
    LanguageModelConfig(**_SIZES, dropout=0.0),
    TrainingConfig(**_SCHEDULE, **_CHARACTERS, batch_tokens=768, max_tokens=64),
    source="Ours: Llama's blocks (Touvron et al. 2023) at the sizes of nanoGPT's setting for a CPU",
)
NANOGPT = replace(
    SMALL,
    model=replace(
        SMALL.model, architecture="gpt2", max_positions=64, intermediate_dim=512, activation="gelu", epsilon=1e-5
    ),
    source="nanoGPT's setting for a CPU (Karpathy 2022), with our schedule",
)
BASE = Recipe(
    LanguageModelConfig(
        hidden_dim=256,
        num_layers=4,
        num_heads=4,
        intermediate_dim=688,
        activation="swish",
        normalize_first=True,
        dropout=0.2,
        attention_dropout=0.1,
    ),
    TrainingConfig(
        **_CHARACTERS,
        steps=4500,
        warmup_steps=200,
        cooldown_steps=4200,
        peak_learning_rate=2e-3,
        evaluate_every=500,
        batch_tokens=4096,  # With four times as many characters an update, four times as many are needed.
        max_tokens=256,
        precision="mixed_bfloat16",
    ),
    source="Ours: some million characters on a CPU",
)
SUBWORDS = replace(
    BASE,
    model=replace(BASE.model, dropout=0.1, attention_dropout=0.0),
    training=replace(BASE.training, pieces="subwords"),
    source="Ours: the same with byte-pair subwords, for some million words",
)

RECIPES = {"small": SMALL, "nanogpt": NANOGPT, "base": BASE, "subwords": SUBWORDS}
