"""Configurations of models and of training runs, as frozen dataclasses that check their values."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from zoo.config_values import override

PAD_ID, UNKNOWN_ID, START_ID, END_ID = 0, 1, 2, 3
NGRAM_BUCKETS = 2**18  # See `zoo.models.ngram_logits`.
NUM_CHARACTERS = 1024  # See `zoo.text.word_characters`.


def _checked(default: Any, rule: str, holds: Callable[[Any], bool]) -> Any:
    """Declares a field whose values a `_CheckedConfig` checks: `holds(value)` is whether they follow the `rule`."""
    return field(default=default, metadata={"rule": rule, "holds": holds})


def _positive(default: int) -> int:
    return _checked(default, "be at least 1", lambda value: value >= 1)


def _zero_or_more(default: float) -> Any:
    return _checked(default, "be 0 or more", lambda value: 0 <= value < math.inf)


def _rate(default: float) -> float:
    return _checked(default, "lie in [0, 1)", lambda value: 0 <= value < 1)


def _choice(default: str, *others: str) -> str:
    choices = default, *others
    return _checked(default, f"be one of {', '.join(choices)}", lambda value: value in choices)


@dataclass(frozen=True)
class _CheckedConfig:
    """Base of configurations whose fields are declared with the rules that their values follow."""

    def __post_init__(self):
        for item in fields(self):
            value, rule = getattr(self, item.name), item.metadata.get("rule")
            if rule and not item.metadata["holds"](value):
                raise ValueError(f"`{item.name}` must {rule}. Received: {item.name}={value!r}.")


@dataclass(frozen=True)
class TransformerConfig(_CheckedConfig):
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

    vocabulary_size: int = _positive(8000)
    hidden_dim: int = _positive(512)
    intermediate_dim: int = _positive(2048)
    num_heads: int = _positive(8)
    dropout: float = _rate(0.1)
    attention_dropout: float = _rate(0.0)
    activation_dropout: float = _rate(0.0)
    normalize_first: bool = False

    def __post_init__(self):
        super().__post_init__()
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

    num_encoder_layers: int = _positive(6)
    num_decoder_layers: int = _positive(6)


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

    num_layers: int = _positive(6)
    activation: str = _choice("relu", "gelu")
    epsilon: float = 1e-6
    max_positions: int = _zero_or_more(0)
    num_segments: int = _zero_or_more(0)
    bert_embeddings: bool = False

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

    num_classes: int = _positive(2)
    num_texts: int = 1
    pooling: str = _choice("mean", "first", "attention")
    ngrams: int = _zero_or_more(0)

    def __post_init__(self):
        super().__post_init__()
        if self.num_texts not in (1, 2) or self.num_texts == 2 > self.num_segments:
            raise ValueError(
                "`num_texts` must be 1, or 2 with `num_segments` of at least 2. "
                f"Received: num_texts={self.num_texts}, num_segments={self.num_segments}."
            )


@dataclass(frozen=True)
class WordModelConfig(EncoderConfig):
    """Configures an encoder that may read the characters of words beside their subwords.

    Args:
        character_filters: Filters of a convolution over the characters of each word; 0 to read subwords only.
    """

    character_filters: int = _zero_or_more(0)


@dataclass(frozen=True)
class TaggerConfig(WordModelConfig):
    """Configures an encoder that predicts one label for each step.

    Args:
        num_labels: Labels L.
    """

    num_labels: int = _positive(2)


@dataclass(frozen=True)
class SpanParserConfig(WordModelConfig):
    """Configures an encoder that predicts a label for each span of words and a tag for each word.

    Args:
        num_labels: Labels of spans; the first one means that the span is not a constituent.
        num_tags: Tags of words.
        span_dim: Inner width of the layers that score a span.
    """

    num_labels: int = _positive(2)
    num_tags: int = _positive(1)
    span_dim: int = _positive(256)


@dataclass(frozen=True)
class TrainingConfig(_CheckedConfig):
    """Configures a training run; one optimizer step sees `batch_tokens` source and as many target positions.

    Args:
        batch_tokens: Positions (padding included) of the longer side in one optimizer step.
        micro_batch_tokens: Approximate number of positions that a device holds at once; 0 for its share of
            `batch_tokens`. A smaller value accumulates gradients: a step has the same `batch_tokens` on any machine.
        steps: Optimizer steps.
        warmup_steps: Steps of linear warm-up before the inverse-square-root decay.
        peak_learning_rate: Rate at the end of the warm-up; 0 for Noam's `(hidden_dim * warmup_steps)**-0.5`.
        cooldown_steps: Steps at the end over which the rate falls linearly to zero; 0 for none. On the command line
            both scale with the steps, see `change_recipe`.
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
        deterministic: Whether all operations are deterministic, which costs time on GPUs; see
            `keras_transformer.training.set_reproducible`. On a CPU they always are.
    """

    batch_tokens: int = _positive(25_000)
    micro_batch_tokens: int = _zero_or_more(0)
    steps: int = _positive(100_000)
    warmup_steps: int = _positive(4_000)
    peak_learning_rate: float = _zero_or_more(0.0)
    cooldown_steps: int = _zero_or_more(0)
    label_smoothing: float = _rate(0.1)
    lowercase: bool = False
    subword_dropout: float = _rate(0.0)
    token_dropout: float = _rate(0.0)
    frozen_layers: int = _zero_or_more(0)
    layer_decay: float = _checked(1.0, "lie in (0, 1]", lambda value: 0 < value <= 1)
    lora_rank: int = _zero_or_more(0)
    max_tokens: int = _positive(256)
    evaluate_every: int = _positive(1_000)
    average: int = _positive(5)
    score: str = _choice("bleu", "loss", "accuracy", "macro_f1", "span_f1", "bracket_f1")
    patience: int = _zero_or_more(0)
    precision: str = _choice("float32", "mixed_bfloat16", "mixed_float16")
    seed: int = 1
    deterministic: bool = False

    def __post_init__(self):
        super().__post_init__()
        if self.cooldown_steps > self.steps:
            raise ValueError(
                f"`cooldown_steps` must be at most `steps`. Received: cooldown_steps={self.cooldown_steps}, "
                f"steps={self.steps}. Shorten the cool-down."
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


def change_recipe(recipe: Recipe, assignments: Sequence[str]) -> Recipe:
    """Applies command-line assignments such as `training.steps=500`; see `zoo.config_values.override`.

    With other steps, warm-up and cool-down keep their shares of the run, unless they are assigned too. Noam's rate,
    whose peak depends on the warm-up, keeps that.
    """
    given = {name.strip(): text for name, _, text in (assignment.partition("=") for assignment in assignments)}
    settings = recipe.training
    try:
        share = int(given["training.steps"].replace("_", "")) / settings.steps
        peak = settings.peak_learning_rate or float(given.get("training.peak_learning_rate", 0))
    except (KeyError, ValueError):  # `override` reports an invalid number.
        return override(recipe, assignments)
    scaled = [f"training.cooldown_steps={round(settings.cooldown_steps * share)}"]
    if peak:
        scaled.append(f"training.warmup_steps={max(1, round(settings.warmup_steps * share))}")
    return override(recipe, [*scaled, *assignments])
