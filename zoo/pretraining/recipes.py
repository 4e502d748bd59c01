"""Named recipes for pretraining."""

from dataclasses import replace

from zoo.config import EncoderConfig, ModelConfig, Recipe, TrainingConfig
from zoo.training_config import DenoisingConfig

_SIZES = dict(vocabulary_size=8000, num_layers=2, hidden_dim=128, intermediate_dim=512, num_heads=4)
_SCHEDULE = dict(steps=5000, warmup_steps=500, cooldown_steps=3000, peak_learning_rate=0.002, evaluate_every=500)

SMALL = Recipe(
    EncoderConfig(**_SIZES, dropout=0.1, activation="gelu", normalize_first=True),
    TrainingConfig(**_SCHEDULE, batch_tokens=8192, max_tokens=128, label_smoothing=0.0, average=1, score="loss"),
    source="Ours, after Devlin et al. (2019): a tiny BERT for some million words on a CPU",
)

_DENOISING_SIZES = dict(num_encoder_layers=3, num_decoder_layers=3, hidden_dim=256, intermediate_dim=512, num_heads=4)

SPANS = Recipe(
    ModelConfig(**_DENOISING_SIZES, vocabulary_size=8000, normalize_first=True),
    TrainingConfig(
        **_SCHEDULE,
        batch_tokens=4096,
        max_tokens=128,
        label_smoothing=0.0,
        average=1,
        score="loss",
        denoising=DenoisingConfig("spans", rate=0.15, span_length=3.0),
    ),
    source="Ours, with the sizes of small translators and the noise of Raffel et al. (2020), section 3.1.4",
)

INFILLING = replace(
    SPANS,
    training=replace(SPANS.training, denoising=DenoisingConfig("infilling", rate=0.3, span_length=3.0)),
    source="Ours, with the sizes of small translators and the noise of Lewis et al. (2020), section 2.2",
)

RECIPES = {"small": SMALL}
OBJECTIVES = {"masking": RECIPES, "spans": {"small": SPANS}, "infilling": {"small": INFILLING}}
