"""Encoder and decoder of T5."""

import keras

from keras_transformer import (
    BucketedAttention,
    Decoder,
    DecoderBlock,
    DistanceBuckets,
    Encoder,
    EncoderBlock,
    FeedForward,
    GatedFeedForward,
    MultiHeadAttention,
)
from zoo.models.rms_residual import RMSResidual


class T5Parts:
    """The layers of a block of T5 (Raffel et al. 2020, section 2.1): RMS normalization, no biases of dense layers.

    Self-attention adds a learned number for the distance of the key, of `buckets` that the blocks of a stack share.

    Args:
        arguments: As for `EncoderBlock` and `DecoderBlock`.
        key_dim: Width H of a head; the width of the inputs over the number of heads by default.
        gated: Whether the feed-forward layers have a gate, as those of T5 1.1 (Shazeer 2020).
    """

    residual_class = RMSResidual
    bidirectional: bool

    def __init__(self, *arguments, key_dim: int | None = None, gated: bool = False, **kwargs):
        self.gated = gated  # The constructor of blocks makes the feed-forward layer.
        super().__init__(*arguments, **kwargs)
        self.key_dim, self.buckets = key_dim, None

    def get_config(self):
        return {**super().get_config(), "key_dim": self.key_dim, "gated": self.gated}

    def _make_attention(self, width, name):
        sizes = self.num_heads, self.key_dim or width // self.num_heads
        options = {"dropout": self.attention_dropout, "use_bias": False, "dtype": self.dtype_policy, "name": name}
        if name == "cross_attention":
            return MultiHeadAttention(*sizes, **options)
        return BucketedAttention(*sizes, buckets=self.buckets, bidirectional=self.bidirectional, **options)

    def _make_feed_forward(self):
        return (GatedFeedForward if self.gated else FeedForward)(
            self.intermediate_dim,
            self.activation,
            dropout=self.activation_dropout,
            use_bias=False,
            dtype=self.dtype_policy,
            name="feed_forward",
        )


@keras.saving.register_keras_serializable("zoo")
class T5EncoderBlock(T5Parts, EncoderBlock):
    """`EncoderBlock` of T5; see `T5Parts`."""

    bidirectional = True


@keras.saving.register_keras_serializable("zoo")
class T5DecoderBlock(T5Parts, DecoderBlock):
    """`DecoderBlock` of T5; see `T5Parts`. Cross-attention knows no distances."""

    bidirectional = False


class SharedBuckets:
    """A stack whose blocks share one table of biases for distances, 32 buckets up to 128 steps, as published."""

    def build(self, inputs_shape, **memory_shape):
        first = self.blocks[0]
        self.buckets = DistanceBuckets(
            first.num_heads, bidirectional=first.bidirectional, dtype=self.dtype_policy, name="buckets"
        )
        self.buckets.build()
        for block in self.blocks:
            block.buckets = self.buckets
        super().build(inputs_shape, **memory_shape)


@keras.saving.register_keras_serializable("zoo")
class T5Encoder(SharedBuckets, Encoder):
    """Stack of `T5EncoderBlock`."""

    block_class = T5EncoderBlock


@keras.saving.register_keras_serializable("zoo")
class T5Decoder(SharedBuckets, Decoder):
    """Stack of `T5DecoderBlock`."""

    block_class = T5DecoderBlock

    def build(self, inputs_shape, memory_shape=None):
        super().build(inputs_shape, memory_shape=memory_shape)
