"""Configurations of models and of training runs, as frozen dataclasses that check their values."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from zoo.config_checks import CheckedConfig, choice, positive, rate, share, zero_or_more
from zoo.config_values import override
from zoo.training_config import TrainingConfig

PAD_ID, UNKNOWN_ID, START_ID, END_ID = 0, 1, 2, 3
NGRAM_BUCKETS = 2**18  # See `zoo.models.ngram_logits`.
NUM_CHARACTERS = 1024  # See `zoo.text.word_characters`.


@dataclass(frozen=True)
class BlockConfig(CheckedConfig):
    """Sizes and rates of the blocks of all models; the symbols are those of Vaswani et al. (2017), table 3.

    Args:
        hidden_dim: Width d_model of the residual stream.
        intermediate_dim: Inner width d_ff of the feed-forward layers.
        num_heads: Attention heads h; divides `hidden_dim`.
        dropout: Rate P_drop after embeddings + positions and after each sublayer.
        attention_dropout: Rate on attention weights.
        activation_dropout: Rate inside the feed-forward layers.
        activation: Of the feed-forward layers: "relu", "gelu" (exact) as in BERT, "gelu_tanh" (its approximation) as in
            GPT-2, or "swish" as in Marian.
        epsilon: Added to variances by the layer normalizations.
        normalize_first: Pre-norm if True, post-norm as published if False.
    """

    hidden_dim: int = positive(512)
    intermediate_dim: int = positive(2048)
    num_heads: int = positive(8)
    dropout: float = rate(0.1)
    attention_dropout: float = rate(0.0)
    activation_dropout: float = rate(0.0)
    activation: str = choice("relu", "gelu", "gelu_tanh", "swish")
    epsilon: float = 1e-6
    normalize_first: bool = False

    def __post_init__(self):
        super().__post_init__()
        if self.hidden_dim % 2:
            raise ValueError(
                "`hidden_dim` must be even: positions are pairs of sine and cosine. "
                f"Received: hidden_dim={self.hidden_dim}."
            )
        if self.hidden_dim % self.num_heads and not self._has_wide_heads:
            raise ValueError(
                f"`hidden_dim` must be a multiple of `num_heads`. Received: hidden_dim={self.hidden_dim}, "
                f"num_heads={self.num_heads}. Change one of the two."
            )

    @property
    def _has_wide_heads(self):
        """Whether the width of a head is a setting of its own."""
        return False

    def block_arguments(self) -> dict:
        """Returns the keyword arguments of `keras_transformer.Encoder` and `Decoder`, without the number of blocks."""
        names = "num_heads", "intermediate_dim", "dropout", "attention_dropout", "activation_dropout", "activation"
        return {name: getattr(self, name) for name in (*names, "epsilon", "normalize_first")}


@dataclass(frozen=True)
class VocabularyConfig(CheckedConfig):
    """The size of a vocabulary.

    Args:
        vocabulary_size: Rows V of the embedding table, special tokens included.
    """

    vocabulary_size: int = positive(8000)


@dataclass(frozen=True)
class TransformerConfig(BlockConfig, VocabularyConfig):
    """Sizes and rates of all models of texts; the size of the vocabulary is the first field."""


@dataclass(frozen=True)
class ModelConfig(TransformerConfig):
    """Configures an encoder-decoder Transformer, whose embedding table serves source, target and, mostly, output.

    Args:
        num_encoder_layers, num_decoder_layers: Blocks N in each stack.
        output_bias: Whether the logits have a bias, as in Marian.
        architecture: "transformer": sinusoids, layer normalization (Vaswani et al. 2017); "t5": biases for distances,
            RMS normalization, no other biases (Raffel et al. 2020), which is pre-norm; "t5.1.1": with gated
            feed-forward layers and an output matrix of its own, too (Shazeer 2020; Xue et al. 2021, section 3).
        key_dim: Width of one head of T5's attention; 0 for `hidden_dim / num_heads`.
    """

    num_encoder_layers: int = positive(6)
    num_decoder_layers: int = positive(6)
    output_bias: bool = False
    architecture: str = choice("transformer", "t5", "t5.1.1")
    key_dim: int = zero_or_more(0)

    def __post_init__(self):
        super().__post_init__()
        if self.architecture == "transformer" and self.key_dim:
            raise ValueError(
                '`key_dim` is for the architectures "t5" and "t5.1.1". Received: architecture="transformer", '
                f"key_dim={self.key_dim}. Change one of both."
            )
        if self.architecture != "transformer" and not self.normalize_first:
            raise ValueError(
                f"T5 is pre-norm. Received: architecture={self.architecture!r}, normalize_first=False. Set "
                "normalize_first=true."
            )

    @property
    def _has_wide_heads(self):
        return self.key_dim > 0


@dataclass(frozen=True)
class NonAutoregressiveConfig(ModelConfig):
    """Configures an encoder-decoder Transformer that predicts all tokens of the target at once.

    Args:
        lengths: "predicted": the number of tokens is predicted from the source, as the difference to that of the
            source; "fixed": the output always has `max_length` positions, and is cut at its first end token;
            "aligned": each token of the source has `positions_per_token` positions, which may repeat a token or stay
            blank (Libovicky and Helcl 2018).
        max_length: Positions of a fixed output, its end token included, and the most of a predicted one.
        max_length_change: Largest difference of the numbers of tokens that can be predicted.
        positions_per_token: Of an aligned output. A translation cannot have more tokens than positions.
        glancing: Of an aligned output, in training: the share of what the model would have got wrong that is shown to
            it, at random positions (Qian et al. 2021); 0 for none.
        imputed: Of an aligned output, in training: the share of texts of which any share is shown, from nothing to all,
            whatever the model gets wrong. Decoding in several iterations needs it (Saharia et al. 2020).
    """

    lengths: str = choice("predicted", "fixed", "aligned")
    max_length: int = positive(128)
    max_length_change: int = positive(32)
    positions_per_token: int = positive(2)
    glancing: float = rate(0.5)
    imputed: float = share(0.0)

    def __post_init__(self):
        super().__post_init__()
        if self.architecture != "transformer":
            raise ValueError(
                "A non-autoregressive model has sinusoids: T5's distances are those of causal decoders. Received: "
                f"architecture={self.architecture!r}. Leave it at 'transformer'."
            )

    @property
    def num_length_classes(self) -> int:
        """Number of classes of differences in length; class 0 is padding."""
        return 2 * self.max_length_change + 2 if self.lengths == "predicted" else 0


@dataclass(frozen=True)
class EncoderConfig(TransformerConfig):
    """Configures an encoder of token ids.

    Args:
        num_layers: Blocks N.
        max_positions: Rows of a table of learned positions; 0 for sinusoids, which have no limit.
        num_segments: Rows of a table of segments, for pairs of texts; 0 for none.
        bert_embeddings: Whether the embeddings are unscaled and their sum is normalized, as in BERT; by default
            they are scaled by the square root of their width.
    """

    num_layers: int = positive(6)
    max_positions: int = zero_or_more(0)
    num_segments: int = zero_or_more(0)
    bert_embeddings: bool = False


@dataclass(frozen=True)
class LanguageModelConfig(TransformerConfig):
    """Configures a decoder-only Transformer, whose embedding table serves input and output.

    Args:
        num_layers: Blocks N.
        architecture: "llama": rotary positions, RMS normalization, gated feed-forward layers (Touvron et al. 2023);
            "gpt2": learned positions, layer normalization (Radford et al. 2019).
        max_positions: Rows of the table of learned positions; 0 for rotary ones, which have no limit.
        num_impossible: The first so many tokens have no probability: padding and others that texts do not have. For
            models of other packages, which were trained without these tokens.
    """

    num_layers: int = positive(6)
    architecture: str = choice("llama", "gpt2")
    max_positions: int = zero_or_more(0)
    num_impossible: int = zero_or_more(0)

    def __post_init__(self):
        super().__post_init__()
        if (self.architecture == "gpt2") != bool(self.max_positions):
            raise ValueError(
                '`max_positions` must be positive for the architecture "gpt2", and 0 for "llama". Received: '
                f"architecture={self.architecture!r}, max_positions={self.max_positions}. Change one of both."
            )


@dataclass(frozen=True)
class ClassifierConfig(EncoderConfig):
    """Configures an encoder that predicts one class for each text.

    Args:
        num_classes: Classes C.
        num_texts: 1, or 2 for pairs of texts, which need segments.
        pooling: How steps become one vector: their "mean" over real steps, the "first", or "attention".
        pooler: Activation of a dense layer of that vector before the head, as BERT's; "none" for no such layer.
        ngrams: Longest n-gram of a linear classifier whose logits are added to those of the encoder; 0 for none.
    """

    num_classes: int = positive(2)
    num_texts: int = 1
    pooling: str = choice("mean", "first", "attention")
    pooler: str = choice("none", "tanh", "relu")
    ngrams: int = zero_or_more(0)

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

    character_filters: int = zero_or_more(0)


@dataclass(frozen=True)
class TaggerConfig(WordModelConfig):
    """Configures an encoder that predicts one label for each step.

    Args:
        num_labels: Labels L.
    """

    num_labels: int = positive(2)


@dataclass(frozen=True)
class SpanParserConfig(WordModelConfig):
    """Configures an encoder that predicts a label for each span of words and a tag for each word.

    Args:
        num_labels: Labels of spans; the first one means that the span is not a constituent.
        num_tags: Tags of words.
        span_dim: Inner width of the layers that score a span.
        tree_crf: Whether scores are normalised over all trees (a conditional random field), rather than for each span.
    """

    num_labels: int = positive(2)
    num_tags: int = positive(1)
    span_dim: int = positive(256)
    tree_crf: bool = False


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
        scale = int(given["training.steps"].replace("_", "")) / settings.steps
        peak = settings.peak_learning_rate or float(given.get("training.peak_learning_rate", 0))
    except (KeyError, ValueError):  # `override` reports an invalid number.
        return override(recipe, assignments)
    scaled = [f"training.cooldown_steps={round(settings.cooldown_steps * scale)}"]
    if peak:
        scaled.append(f"training.warmup_steps={max(1, round(settings.warmup_steps * scale))}")
    return override(recipe, [*scaled, *assignments])
