"""Configurations as frozen values: what a model is, how it is trained, where the numbers come from."""

import dataclasses
import difflib
import math
import typing
from dataclasses import dataclass, field

PAD_ID, UNKNOWN_ID, START_ID, END_ID = 0, 1, 2, 3


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
    """

    num_classes: int = 2
    num_texts: int = 1
    pooling: str = "mean"

    def __post_init__(self):
        super().__post_init__()
        _require_positive(self, "num_classes")
        if self.num_texts not in (1, 2) or self.num_texts == 2 > self.num_segments:
            raise ValueError(
                "`num_texts` must be 1, or 2 with `num_segments` of at least 2. "
                f"Received: num_texts={self.num_texts}, num_segments={self.num_segments}."
            )
        if self.pooling not in ("mean", "first", "attention"):
            raise ValueError(f"`pooling` must be mean, first or attention. Received: pooling={self.pooling!r}.")


@dataclass(frozen=True)
class TaggerConfig(EncoderConfig):
    """An encoder with a label for each step.

    Args:
        num_labels: Labels L.
    """

    num_labels: int = 2

    def __post_init__(self):
        super().__post_init__()
        _require_positive(self, "num_labels")


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
        subword_dropout: Probability of skipping a BPE merge in training text (Provilkov et al. 2020); 0 for none.
        max_tokens: Longer pairs are left out of training.
        evaluate_every: Steps between two looks at the dev set, each of which writes a checkpoint.
        average: How many of the last checkpoints are averaged into the final weights; 1 for none.
        score: What makes a checkpoint the best, on the dev set: its "loss"; for translation "bleu", translated
            greedily; for classification "accuracy" or "macro_f1"; for labelling "accuracy" or "span_f1".
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
    subword_dropout: float = 0.0
    max_tokens: int = 256
    evaluate_every: int = 1_000
    average: int = 5
    score: str = "bleu"
    patience: int = 0
    precision: str = "float32"
    seed: int = 1

    def __post_init__(self):
        _require_positive(self, "batch_tokens", "steps", "warmup_steps", "max_tokens", "evaluate_every", "average")
        _require_rate(self, "label_smoothing", "subword_dropout")
        for name in ("micro_batch_tokens", "peak_learning_rate", "cooldown_steps", "patience"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"`{name}` must be 0 or more. Received: {name}={getattr(self, name)!r}.")
        if self.cooldown_steps > self.steps:
            raise ValueError(
                f"`cooldown_steps` must be at most `steps`. Received: cooldown_steps={self.cooldown_steps}, "
                f"steps={self.steps}. Shorten the cool-down."
            )
        scores = ("bleu", "loss", "accuracy", "macro_f1", "span_f1")
        if self.score not in scores:
            raise ValueError(f"`score` must be one of {', '.join(scores)}. Received: score={self.score!r}.")
        if self.precision not in ("float32", "mixed_bfloat16", "mixed_float16"):
            raise ValueError(
                "`precision` must be one of float32, mixed_bfloat16, mixed_float16. "
                f"Received: precision={self.precision!r}."
            )


@dataclass(frozen=True)
class Recipe:
    """A model, its training, and the publication that the numbers come from."""

    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    source: str = ""


def to_dict(config: typing.Any) -> dict:
    """The configuration as plain dictionaries, ready for JSON."""
    return dataclasses.asdict(config)


def from_dict(config_class: type, values: typing.Mapping) -> typing.Any:
    """The inverse of `to_dict`; unknown or ill-typed fields raise `ValueError`."""
    if not isinstance(values, typing.Mapping):
        raise ValueError(f"{config_class.__name__} must be an object of named values. Received: {values!r}.")
    fields = {f.name: f for f in dataclasses.fields(config_class)}
    known = {}
    for name, value in values.items():
        _check_name(name, fields, config_class.__name__)
        kind = fields[name].type
        known[name] = from_dict(kind, value) if dataclasses.is_dataclass(kind) else _typed(name, value, kind)
    return config_class(**known)


def override(config: typing.Any, assignments: typing.Iterable[str]) -> typing.Any:
    """Applies command-line assignments such as `training.steps=500`.

    Raises:
        ValueError: If an assignment has no `=`, names no field, or its value has the wrong type;
            the message lists the valid names.
    """
    values = to_dict(config)
    for assignment in assignments:
        path, separator, text = (part.strip() for part in assignment.partition("="))
        if not separator:
            raise ValueError(f"Expected NAME=VALUE. Received: {assignment!r}. Example: training.steps=500.")
        _assign(values, type(config), path.split("."), text, path)
    # Checked together, so that the order of assignments does not matter.
    return from_dict(type(config), values)


def _assign(values, config_class, path, text, full_path):
    fields = {f.name: f for f in dataclasses.fields(config_class)}
    _check_name(path[0], fields, full_path)
    kind = fields[path[0]].type
    if dataclasses.is_dataclass(kind):
        if len(path) == 1:
            names = ", ".join(f"{full_path}.{f.name}" for f in dataclasses.fields(kind))
            raise ValueError(f"`{full_path}` is a group of settings; set one of them: {names}.")
        _assign(values[path[0]], kind, path[1:], text, full_path)
    else:
        if len(path) > 1:
            raise ValueError(f"`{path[0]}` is a value and has no field {path[1]!r}. Received: {full_path}.")
        values[path[0]] = _parse(full_path, text, kind)


def _check_name(name, fields, where):
    if name not in fields:
        close = difflib.get_close_matches(name, fields, 1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"Unknown field {name!r} in {where}.{hint} Known fields: {', '.join(fields)}.")


def _parse(name, text, kind):
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise ValueError(f"`{name}` must be true or false. Received: {text!r}.")
        return text.lower() == "true"
    try:
        return kind(text.replace("_", "")) if kind in (int, float) else kind(text)
    except ValueError:
        raise ValueError(f"`{name}` must be of type {kind.__name__}. Received: {text!r}.") from None


def _typed(name, value, kind):
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise ValueError(f"`{name}` must be of type {kind.__name__}. Received: {value!r}.")
    return value


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


def _require_rate(config, *names):
    for name in names:
        if not 0 <= getattr(config, name) < 1:
            raise ValueError(f"`{name}` must lie in [0, 1). Received: {name}={getattr(config, name)!r}.")
