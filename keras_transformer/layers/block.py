"""Base class of encoder and decoder blocks."""

from typing import Any, NamedTuple

import keras

from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.multi_head_attention import MultiHeadAttention
from keras_transformer.layers.output_spec import output_spec
from keras_transformer.layers.residual import Residual
from keras_transformer.ops.activations import get_activation
from keras_transformer.ops.arguments import check_positive_integers


def join_outputs(outputs: Any, *others: Any) -> Any:
    """Returns `outputs` alone, or a tuple of it and those of the others (scores, cache) that are not None."""
    others = [x for x in others if x is not None]
    return (outputs, *others) if others else outputs


class BlockScores(NamedTuple):
    """The attention weights of one DecoderBlock, float32 `[B, N, T, S]` each."""

    self_attention: Any
    cross_attention: Any


class TransformerBlock(keras.layers.Layer):
    """Base class of EncoderBlock and DecoderBlock, which document the arguments.

    A block with another attention sets `attention_class` (a `MultiHeadAttention` with the same arguments) or overrides
    `_make_attention`, one with another normalisation sets `residual_class`, and one with another feed-forward layer
    overrides `_make_feed_forward`; a stack of such blocks sets `block_class`. Heads are as wide as the inputs are for
    each head, unless a block sets `key_dim`.
    """

    attention_class, residual_class = MultiHeadAttention, Residual
    key_dim: int | None = None

    def __init__(
        self,
        num_heads: int,
        intermediate_dim: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        activation_dropout: float = 0.0,
        activation="relu",
        normalize_first: bool = False,
        epsilon: float = 1e-6,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_positive_integers(num_heads=num_heads)
        self.num_heads = num_heads
        self.intermediate_dim = intermediate_dim
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.activation_dropout = activation_dropout
        self.activation = get_activation(activation)
        self.normalize_first = normalize_first
        self.epsilon = epsilon
        self.supports_masking = True
        self.self_attention_residual = self._make_residual("self_attention_residual")
        self.feed_forward_residual = self._make_residual("feed_forward_residual")
        self.feed_forward = self._make_feed_forward()

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "intermediate_dim": self.intermediate_dim,
            "dropout": self.dropout,
            "attention_dropout": self.attention_dropout,
            "activation_dropout": self.activation_dropout,
            "activation": keras.activations.serialize(self.activation),
            "normalize_first": self.normalize_first,
            "epsilon": self.epsilon,
        }

    def compute_mask(self, inputs, previous_mask=None):
        return previous_mask

    def compute_output_shape(self, inputs_shape, memory_shape=None):
        return inputs_shape

    def compute_output_spec(self, *args, **kwargs):
        return output_spec(self, args, kwargs)

    def _build_common(self, inputs_shape):
        """Builds self-attention and feed-forward layer; called by `build`, where the width is known."""
        width = inputs_shape[-1]
        divided = self.key_dim is not None or width is None or width % self.num_heads == 0
        if len(inputs_shape) != 3 or width is None or not divided:
            raise ValueError(
                f"`inputs` must be [batch, steps, width] with a width divisible by num_heads={self.num_heads}. "
                f"Received: inputs_shape={tuple(inputs_shape)}. Project the inputs first or change `num_heads`."
            )
        self.self_attention = self._make_attention(width, "self_attention")
        self.self_attention.build(inputs_shape, inputs_shape)
        self.self_attention_residual.build(inputs_shape)
        self.feed_forward.build(inputs_shape)
        self.feed_forward_residual.build(inputs_shape)

    def _attend_to_self(self, inputs, mask, return_attention_scores, cache, packing, **arguments):
        """Applies self-attention inside its residual; returns outputs, weights or None, and the new cache or None."""
        query = self.self_attention_residual.prepare(inputs, mask)
        attended = self.self_attention(
            query,
            query,
            return_attention_scores=return_attention_scores,
            cache=cache,
            packing=packing,
            value_packing=packing,
            **arguments,
        )
        attended, *others = attended if isinstance(attended, tuple) else (attended,)
        scores = others.pop(0) if return_attention_scores else None
        x = self.self_attention_residual(inputs, attended, inputs_mask=mask)
        return x, scores, others[0] if others else None

    def _feed_forward(self, x, mask):
        """Applies the feed-forward layer inside its residual."""
        inner = self.feed_forward(self.feed_forward_residual.prepare(x, mask))
        return self.feed_forward_residual(x, inner, inputs_mask=mask)

    def _make_attention(self, width, name):
        attention_class = self.attention_class if name == "self_attention" else MultiHeadAttention
        return attention_class(
            self.num_heads,
            self.key_dim or width // self.num_heads,
            dropout=self.attention_dropout,
            dtype=self.dtype_policy,
            name=name,
        )

    def _make_feed_forward(self):
        return FeedForward(
            self.intermediate_dim,
            self.activation,
            dropout=self.activation_dropout,
            dtype=self.dtype_policy,
            name="feed_forward",
        )

    def _make_residual(self, name):
        return self.residual_class(self.dropout, self.normalize_first, self.epsilon, dtype=self.dtype_policy, name=name)
