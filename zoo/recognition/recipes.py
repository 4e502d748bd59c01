"""Named recipes for speech."""

from zoo.config import Recipe
from zoo.speech_config import SpeechConfig
from zoo.training_config import TrainingConfig

_SIZES = dict(hidden_dim=144, intermediate_dim=576, num_heads=4, activation="gelu", normalize_first=True, dropout=0.1)
_SCHEDULE = dict(peak_learning_rate=1.5e-3, label_smoothing=0.1, pieces="characters", score="wer", max_tokens=512)

SMALL = Recipe(
    SpeechConfig(**_SIZES, num_encoder_layers=6, num_decoder_layers=2),
    TrainingConfig(
        **_SCHEDULE,
        batch_tokens=8_192,
        steps=3_000,
        warmup_steps=300,
        cooldown_steps=2_500,
        evaluate_every=500,
        average=3,
    ),
    source="Watanabe et al. 2017, a decoder and CTC over one encoder; sizes and schedule are ours, for hours of speech",
)

RECIPES = {"small": SMALL}
