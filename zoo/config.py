"""Configurations as frozen values: what a model is, how it is trained, where the numbers come from."""

import math
from dataclasses import dataclass, field

PAD_ID, UNKNOWN_ID, START_ID, END_ID = 0, 1, 2, 3
NGRAM_BUCKETS = 2**18  # See `zoo.models.ngram_logits`.
NUM_CHARACTERS = 1024  # See `zoo.text.word_characters`.


@dataclass(frozen=True)
class ModelConfig:
    """Sizes of an encoder-decoder Transformer; the symbols are those of Vaswani et al. (2017), table 3.

    Args:
        vocabulary_size: Rows V of the joint embedding table, special tokens included.
        num_encoder_layers, num_decoder_layers: Blocks N in each stack.
        hidden_dim: Width d_model of the residual stream.
        intermediate_dim: Inner width d_ff of the feed-forward layers.
        num_heads: Attention heads h; divides `hidden_dim`.
        dropout: Rate P_drop after embeddings + positions and after each sublayer.
        attention_dropout: Rate on attention weights.
        activation_dropout: Rate inside the feed-forward layers.
        normalize_first: Pre-norm if True, post-norm as published if False.
    """

    vocabulary_size: int = 8000
    num_encoder_layers: int = 6
    num_decoder_layers: int = 6
    hidden_dim: int = 512
    intermediate_dim: int = 2048
    num_heads: int = 8
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    normalize_first: bool = False

    def __post_init__(self):
        _require_positive(self, "num_encoder_layers", "num_decoder_layers")
        _check_sizes(self)


@dataclass(frozen=True)
class EncoderConfig:
    """Sizes of an encoder of token ids; the symbols are those of Vaswani et al. (2017), table 3.

    Args:
        vocabulary_size: Rows V of the embedding table, special tokens included.
        num_layers: Blocks N.
        hidden_dim, intermediate_dim, num_heads, dropout, attention_dropout, activation_dropout, normalize_first:
            As in `ModelConfig`.
        activation: Of the feed-forward layers: "relu", or "gelu" (exact) as in BERT.
        epsilon: Added to variances by the layer normalisations.
        max_positions: Rows of a table of learned positions; 0 for sinusoids, which have no end.
        num_segments: Rows of a table of segments, for pairs of texts; 0 for none.
        bert_embeddings: Whether embeddings are not scaled by the root of their width, and their sum is normalised.
    """

    vocabulary_size: int = 8000
    num_layers: int = 6
    hidden_dim: int = 512
    intermediate_dim: int = 2048
    num_heads: int = 8
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    activation: str = "relu"
    normalize_first: bool = False
    epsilon: float = 1e-6
    max_positions: int = 0
    num_segments: int = 0
    bert_embeddings: bool = False

    def __post_init__(self):
        _require_positive(self, "num_layers")
        _check_sizes(self)
        if self.activation not in ("relu", "gelu"):
            raise ValueError(f"`activation` must be relu or gelu. Received: activation={self.activation!r}.")
        if min(self.max_positions, self.num_segments) < 0:
            raise ValueError(
                "`max_positions` and `num_segments` must be 0 or more. "
                f"Received: max_positions={self.max_positions}, num_segments={self.num_segments}."
            )


@dataclass(frozen=True)
class ClassifierConfig(EncoderConfig):
    """An encoder with a class for each text.

    Args:
        num_classes: Classes C.
        num_texts: 1, or 2 for pairs of texts, which need segments.
        pooling: How steps become one vector: their "mean" over real steps, the "first", or "attention".
        ngrams: Longest n-gram of a linear classifier beside the encoder, whose logits are added to its; 0 for none.
    """

    num_classes: int = 2
    num_texts: int = 1
    pooling: str = "mean"
    ngrams: int = 0

    def __post_init__(self):
        super().__post_init__()
        _require_positive(self, "num_classes")
        if self.num_texts not in (1, 2) or self.num_texts == 2 > self.num_segments:
            raise ValueError(
                "`num_texts` must be 1, or 2 with `num_segments` of at least 2. "
                f"Received: num_texts={self.num_texts}, num_segments={self.num_segments}."
            )
        _require_zero_or_more(self, "ngrams")
        if self.pooling not in ("mean", "first", "attention"):
            raise ValueError(f"`pooling` must be mean, first or attention. Received: pooling={self.pooling!r}.")


@dataclass(frozen=True)
class TaggerConfig(EncoderConfig):
    """An encoder with a label for each step.

    Args:
        num_labels: Labels L.
        character_filters: Filters of a convolution over the characters of each word; 0 to read its subwords only.
    """

    num_labels: int = 2
    character_filters: int = 0

    def __post_init__(self):
        super().__post_init__()
        _require_positive(self, "num_labels")
        _require_zero_or_more(self, "character_filters")


@dataclass(frozen=True)
class SpanParserConfig(EncoderConfig):
    """An encoder with a label for each span of words and a tag for each word.

    Args:
        num_labels: Labels of spans; the first one is that of no constituent.
        num_tags: Tags of words.
        character_filters: As in `TaggerConfig`.
        span_dim: Inner width of the layers that score a span.
    """

    num_labels: int = 2
    num_tags: int = 1
    character_filters: int = 0
    span_dim: int = 256

    def __post_init__(self):
        super().__post_init__()
        _require_positive(self, "num_labels", "num_tags", "span_dim")
        _require_zero_or_more(self, "character_filters")


@dataclass(frozen=True)
class TrainingConfig:
    """How a model is trained; one optimiser step sees `batch_tokens` source and as many target positions.

    Args:
        batch_tokens: Positions (padding included) of the longer side in one optimiser step.
        micro_batch_tokens: Positions that a device holds at once, about; 0 for its share of `batch_tokens`.
            A smaller value accumulates gradients: a step has the same `batch_tokens` on any machine.
        steps: Optimiser steps.
        warmup_steps: Steps of linear warm-up before the inverse-square-root decay.
        peak_learning_rate: Rate at the end of the warm-up; 0 for Noam's `(hidden_dim * warmup_steps)**-0.5`.
        cooldown_steps: Last steps, over which the rate falls linearly to zero; 0 for none.
        label_smoothing: Mass spread evenly over the vocabulary.
        lowercase: Whether the vocabulary that is learned reads capitals as small letters; not for translation.
        subword_dropout: Probability of skipping a BPE merge in training text (Provilkov et al. 2020); 0 for none.
        token_dropout: Probability of reading the unknown token in place of a token of training text (word dropout:
            Iyyer et al. 2015); 0 for none. This and the next three are not for translation.
        frozen_layers: Layers of the encoder, from below, that stay as they are: 1 for the embeddings, 1 + n for n
            blocks too; 0 for none.
        layer_decay: By what the learning rate of a layer of the encoder falls to that of the layer below (Howard and
            Ruder 2018; Sun et al. 2019); 1 for one rate.
        lora_rank: Rank of the changes to the kernels of the encoder, which itself stays as it is (LoRA: Hu et al.
            2022); 0 to train it whole.
        max_tokens: Longer pairs are left out of training.
        evaluate_every: Steps between two looks at the dev set, each of which writes a checkpoint.
        average: How many of the last checkpoints are averaged into the final weights; 1 for none.
        score: What makes a checkpoint the best, on the dev set: its "loss"; for translation "bleu", translated
            greedily; for classification "accuracy" or "macro_f1"; for labelling "accuracy" or "span_f1"; for
            parsing "bracket_f1".
        patience: Looks at the dev set without a better score after which training stops; 0 for never.
        precision: Keras dtype policy while training.
        seed: Seed of weights, dropout and order.
    """

    batch_tokens: int = 25_000
    micro_batch_tokens: int = 0
    steps: int = 100_000
    warmup_steps: int = 4_000
    peak_learning_rate: float = 0.0
    cooldown_steps: int = 0
    label_smoothing: float = 0.1
    lowercase: bool = False
    subword_dropout: float = 0.0
    token_dropout: float = 0.0
    frozen_layers: int = 0
    layer_decay: float = 1.0
    lora_rank: int = 0
    max_tokens: int = 256
    evaluate_every: int = 1_000
    average: int = 5
    score: str = "bleu"
    patience: int = 0
    precision: str = "float32"
    seed: int = 1

    def __post_init__(self):
        _require_positive(self, "batch_tokens", "steps", "warmup_steps", "max_tokens", "evaluate_every", "average")
        _require_rate(self, "label_smoothing", "subword_dropout", "token_dropout")
        if not 0 < self.layer_decay <= 1:
            raise ValueError(f"`layer_decay` must lie in (0, 1]. Received: layer_decay={self.layer_decay!r}.")
        _require_zero_or_more(self, "micro_batch_tokens", "peak_learning_rate", "cooldown_steps", "patience")
        _require_zero_or_more(self, "frozen_layers", "lora_rank")
        if self.cooldown_steps > self.steps:
            raise ValueError(
                f"`cooldown_steps` must be at most `steps`. Received: cooldown_steps={self.cooldown_steps}, "
                f"steps={self.steps}. Shorten the cool-down."
            )
        scores = ("bleu", "loss", "accuracy", "macro_f1", "span_f1", "bracket_f1")
        if self.score not in scores:
            raise ValueError(f"`score` must be one of {', '.join(scores)}. Received: score={self.score!r}.")
        if self.precision not in ("float32", "mixed_bfloat16", "mixed_float16"):
            raise ValueError(
                "`precision` must be one of float32, mixed_bfloat16, mixed_float16. "
                f"Received: precision={self.precision!r}."
            )


@dataclass(frozen=True)
class Recipe:
    """A model, its training, and the publication that the numbers come from.

    Args:
        model: A `ModelConfig`, or the configuration of the model of another task.
        training: How it is trained.
        source: Where the numbers come from.
    """

    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    source: str = ""


def _check_sizes(config):
    _require_positive(config, "vocabulary_size", "hidden_dim", "intermediate_dim", "num_heads")
    _require_rate(config, "dropout", "attention_dropout", "activation_dropout")
    if config.hidden_dim % 2:
        raise ValueError(
            "`hidden_dim` must be even: positions are pairs of sine and cosine. "
            f"Received: hidden_dim={config.hidden_dim}."
        )
    if config.hidden_dim % config.num_heads:
        raise ValueError(
            f"`hidden_dim` must be a multiple of `num_heads`. Received: hidden_dim={config.hidden_dim}, "
            f"num_heads={config.num_heads}. Change one of the two."
        )


def _require_positive(config, *names):
    for name in names:
        if getattr(config, name) < 1:
            raise ValueError(f"`{name}` must be at least 1. Received: {name}={getattr(config, name)!r}.")


def _require_zero_or_more(config, *names):
    for name in names:
        if not 0 <= getattr(config, name) < math.inf:
            raise ValueError(f"`{name}` must be 0 or more. Received: {name}={getattr(config, name)!r}.")


def _require_rate(config, *names):
    for name in names:
        if not 0 <= getattr(config, name) < 1:
            raise ValueError(f"`{name}` must lie in [0, 1). Received: {name}={getattr(config, name)!r}.")
