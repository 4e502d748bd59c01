"""Configurations of models and of training runs, as frozen dataclasses that check their values."""

import math
from dataclasses import dataclass, field

PAD_ID, UNKNOWN_ID, START_ID, END_ID = 0, 1, 2, 3
NGRAM_BUCKETS = 2**18  # See `zoo.models.ngram_logits`.
NUM_CHARACTERS = 1024  # See `zoo.text.word_characters`.


@dataclass(frozen=True)
class TransformerConfig:
    """Sizes and rates that all models have; the symbols are those of Vaswani et al. (2017), table 3.

    Args:
        vocabulary_size: Rows V of the embedding table, special tokens included.
        hidden_dim: Width d_model of the residual stream.
        intermediate_dim: Inner width d_ff of the feed-forward layers.
        num_heads: Attention heads h; divides `hidden_dim`.
        dropout: Rate P_drop after embeddings + positions and after each sublayer.
        attention_dropout: Rate on attention weights.
        activation_dropout: Rate inside the feed-forward layers.
        normalize_first: Pre-norm if True, post-norm as published if False.
    """

    vocabulary_size: int = 8000
    hidden_dim: int = 512
    intermediate_dim: int = 2048
    num_heads: int = 8
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    normalize_first: bool = False

    def __post_init__(self):
        _require_positive(self, "vocabulary_size", "hidden_dim", "intermediate_dim", "num_heads")
        _require_rate(self, "dropout", "attention_dropout", "activation_dropout")
        if self.hidden_dim % 2:
            raise ValueError(
                "`hidden_dim` must be even: positions are pairs of sine and cosine. "
                f"Received: hidden_dim={self.hidden_dim}."
            )
        if self.hidden_dim % self.num_heads:
            raise ValueError(
                f"`hidden_dim` must be a multiple of `num_heads`. Received: hidden_dim={self.hidden_dim}, "
                f"num_heads={self.num_heads}. Change one of the two."
            )

    def block_arguments(self) -> dict:
        """Returns the keyword arguments of `keras_transformer.Encoder` and `Decoder`, without the number of blocks."""
        names = "num_heads", "intermediate_dim", "dropout", "attention_dropout", "activation_dropout", "normalize_first"
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class ModelConfig(TransformerConfig):
    """Configures an encoder-decoder Transformer, whose embedding table serves source, target and output.

    Args:
        num_encoder_layers, num_decoder_layers: Blocks N in each stack.
    """

    num_encoder_layers: int = 6
    num_decoder_layers: int = 6

    def __post_init__(self):
        super().__post_init__()
        _require_positive(self, "num_encoder_layers", "num_decoder_layers")


@dataclass(frozen=True)
class EncoderConfig(TransformerConfig):
    """Configures an encoder of token ids.

    Args:
        num_layers: Blocks N.
        activation: Of the feed-forward layers: "relu", or "gelu" (exact) as in BERT.
        epsilon: Added to variances by the layer normalizations.
        max_positions: Rows of a table of learned positions; 0 for sinusoids, which have no limit.
        num_segments: Rows of a table of segments, for pairs of texts; 0 for none.
        bert_embeddings: Whether the embeddings are unscaled and their sum is normalized, as in BERT; by default
            they are scaled by the square root of their width.
    """

    num_layers: int = 6
    activation: str = "relu"
    epsilon: float = 1e-6
    max_positions: int = 0
    num_segments: int = 0
    bert_embeddings: bool = False

    def __post_init__(self):
        super().__post_init__()
        _require_positive(self, "num_layers")
        _require_zero_or_more(self, "max_positions", "num_segments")
        _require_choice(self, "activation", ("relu", "gelu"))

    def block_arguments(self) -> dict:
        return {**super().block_arguments(), "activation": self.activation, "epsilon": self.epsilon}


@dataclass(frozen=True)
class ClassifierConfig(EncoderConfig):
    """Configures an encoder that predicts one class for each text.

    Args:
        num_classes: Classes C.
        num_texts: 1, or 2 for pairs of texts, which need segments.
        pooling: How steps become one vector: their "mean" over real steps, the "first", or "attention".
        ngrams: Longest n-gram of a linear classifier whose logits are added to those of the encoder; 0 for none.
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
        _require_choice(self, "pooling", ("mean", "first", "attention"))


@dataclass(frozen=True)
class WordModelConfig(EncoderConfig):
    """Configures an encoder that may read the characters of words beside their subwords.

    Args:
        character_filters: Filters of a convolution over the characters of each word; 0 to read subwords only.
    """

    character_filters: int = 0

    def __post_init__(self):
        super().__post_init__()
        _require_zero_or_more(self, "character_filters")


@dataclass(frozen=True)
class TaggerConfig(WordModelConfig):
    """Configures an encoder that predicts one label for each step.

    Args:
        num_labels: Labels L.
    """

    num_labels: int = 2

    def __post_init__(self):
        super().__post_init__()
        _require_positive(self, "num_labels")


@dataclass(frozen=True)
class SpanParserConfig(WordModelConfig):
    """Configures an encoder that predicts a label for each span of words and a tag for each word.

    Args:
        num_labels: Labels of spans; the first one means that the span is not a constituent.
        num_tags: Tags of words.
        span_dim: Inner width of the layers that score a span.
    """

    num_labels: int = 2
    num_tags: int = 1
    span_dim: int = 256

    def __post_init__(self):
        super().__post_init__()
        _require_positive(self, "num_labels", "num_tags", "span_dim")


@dataclass(frozen=True)
class TrainingConfig:
    """Configures a training run; one optimizer step sees `batch_tokens` source and as many target positions.

    Args:
        batch_tokens: Positions (padding included) of the longer side in one optimizer step.
        micro_batch_tokens: Approximate number of positions that a device holds at once; 0 for its share of
            `batch_tokens`. A smaller value accumulates gradients: a step has the same `batch_tokens` on any machine.
        steps: Optimizer steps.
        warmup_steps: Steps of linear warm-up before the inverse-square-root decay.
        peak_learning_rate: Rate at the end of the warm-up; 0 for Noam's `(hidden_dim * warmup_steps)**-0.5`.
        cooldown_steps: Steps at the end over which the rate falls linearly to zero; 0 for none.
        label_smoothing: Probability mass spread evenly over the vocabulary.
        lowercase: Whether a vocabulary learned from the corpus reads capitals as small letters; not for translation.
        subword_dropout: Probability of skipping a BPE merge in training text (Provilkov et al. 2020); 0 for none.
        token_dropout: Probability of reading the unknown token in place of a token of training text (word dropout:
            Iyyer et al. 2015); 0 for none. This and the next three settings are not for translation.
        frozen_layers: Layers of the encoder, from the bottom, that are not trained: 1 for the embeddings, 1 + n for
            the embeddings and n blocks; 0 for none.
        layer_decay: Factor from the learning rate of a layer of the encoder to that of the layer below (Howard and
            Ruder 2018; Sun et al. 2019); 1 for one rate.
        lora_rank: Rank of the changes to the kernels of the encoder, which is itself not trained (LoRA: Hu et al.
            2022); 0 to train the whole encoder.
        max_tokens: Longer pairs are left out of the training data.
        evaluate_every: Steps between two evaluations on the dev set, each of which writes a checkpoint.
        average: How many of the last checkpoints are averaged into the final weights; 1 for no averaging.
        score: Metric on the dev set that selects the best checkpoint: its "loss"; for translation "bleu", translated
            greedily; for classification "accuracy" or "macro_f1"; for labelling "accuracy" or "span_f1"; for
            parsing "bracket_f1".
        patience: Evaluations without a better score after which training stops; 0 for never.
        precision: Keras dtype policy during training.
        seed: Seed of weights, dropout and the order of examples.
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
        _require_choice(self, "score", ("bleu", "loss", "accuracy", "macro_f1", "span_f1", "bracket_f1"))
        _require_choice(self, "precision", ("float32", "mixed_bfloat16", "mixed_float16"))


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


def _require_choice(config, name, choices):
    if getattr(config, name) not in choices:
        raise ValueError(f"`{name}` must be one of {', '.join(choices)}. Received: {name}={getattr(config, name)!r}.")
