"""Named recipes for translation."""

from dataclasses import replace

from zoo.config import ModelConfig, NonAutoregressiveConfig, Recipe, TrainingConfig
from zoo.training_config import AugmentConfig

_TINY_SIZES = dict(num_encoder_layers=4, num_decoder_layers=4, hidden_dim=128, intermediate_dim=256, num_heads=4)
_TINY_SCHEDULE = dict(steps=14_000, warmup_steps=1000, cooldown_steps=9000, peak_learning_rate=0.0035)

TINY = Recipe(
    ModelConfig(**_TINY_SIZES, vocabulary_size=8000, dropout=0.3, normalize_first=True),
    TrainingConfig(**_TINY_SCHEDULE, batch_tokens=2048, evaluate_every=300),
    source="Sizes and dropout of Transformer-Tiny, Wu et al. 2021; pre-norm and schedule chosen on Multi30k's val set",
)

_SMALL_SIZES = dict(num_encoder_layers=3, num_decoder_layers=3, hidden_dim=256, intermediate_dim=512, num_heads=4)
_SMALL_SCHEDULE = dict(steps=5400, warmup_steps=800, cooldown_steps=2800, peak_learning_rate=0.002)

SMALL = Recipe(
    ModelConfig(**_SMALL_SIZES, vocabulary_size=8000),
    TrainingConfig(**_SMALL_SCHEDULE, batch_tokens=2048, evaluate_every=600),
    source="Between tiny and base, for 100,000 to 1,000,000 short sentences on a CPU",
)

_ROBUST_SIZES = dict(num_encoder_layers=6, num_decoder_layers=2, hidden_dim=256, intermediate_dim=1024, num_heads=4)
_ROBUST_SCHEDULE = dict(steps=12_000, warmup_steps=1000, cooldown_steps=8000, peak_learning_rate=0.0025)

ROBUST = Recipe(
    ModelConfig(**_ROBUST_SIZES, normalize_first=True),
    TrainingConfig(
        **_ROBUST_SCHEDULE,
        batch_tokens=4096,
        evaluate_every=500,
        subword_dropout=0.1,
        precision="mixed_bfloat16",
        case_markup=True,
        split_digits=True,
        placeholders=True,
        augment=AugmentConfig(
            upper=0.06,
            title=0.03,
            lower=0.08,
            unmarked=0.04,
            typos=0.12,
            quotes=0.05,
            joined=0.08,
            copies=0.2,
            names=0.3,
            titles=0.05,
            numbers=0.5,
            dates=0.5,
            times=0.05,
        ),
    ),
    source="For texts as people type them. A deep encoder and a shallow decoder: Kasai et al. 2021; augmentation: "
    "Bogoychev et al. 2023",
)

_PARALLEL_SCHEDULE = dict(steps=14_000, warmup_steps=1000, cooldown_steps=9000, peak_learning_rate=0.002)

NONAUTOREGRESSIVE = Recipe(
    NonAutoregressiveConfig(**_SMALL_SIZES, vocabulary_size=8000, normalize_first=True),
    TrainingConfig(**_PARALLEL_SCHEDULE, batch_tokens=4096, evaluate_every=500),
    source="Conditional masked language models, Ghazvininejad et al. 2019; sizes of `small`. Train it on the "
    "translations of a teacher: docs/non-autoregressive.md",
)

ALIGNED = replace(
    NONAUTOREGRESSIVE,
    model=replace(NONAUTOREGRESSIVE.model, lengths="aligned", imputed=0.7),
    training=replace(NONAUTOREGRESSIVE.training, label_smoothing=0.0),
    source="Alignments of all tokens at once, Libovicky and Helcl 2018, in several iterations, Saharia et al. 2020, "
    "with glancing, Qian et al. 2021; sizes and teacher as for `nonautoregressive`",
)

BASE = Recipe(
    ModelConfig(vocabulary_size=37_000),
    TrainingConfig(batch_tokens=25_000, warmup_steps=4_000, steps=100_000),
    source="Vaswani et al. 2017, table 3, base",
)

BIG = replace(
    BASE,
    model=replace(BASE.model, hidden_dim=1024, intermediate_dim=4096, num_heads=16, dropout=0.3),
    training=replace(BASE.training, steps=300_000, average=20),
    source="Vaswani et al. 2017, table 3, big",
)

RECIPES = {
    "tiny": TINY,
    "small": SMALL,
    "robust": ROBUST,
    "nonautoregressive": NONAUTOREGRESSIVE,
    "aligned": ALIGNED,
    "base": BASE,
    "big": BIG,
}
