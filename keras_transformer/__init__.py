"""Transformer layers for Keras 3."""

from keras_transformer.installation import name_conflict as _name_conflict

if _message := _name_conflict():  # Before the imports, which may fail in files of the other project.
    raise ImportError(_message)

from keras_transformer.layers.additive_attention import AdditiveAttention
from keras_transformer.layers.attention_pooling import AttentionPooling
from keras_transformer.layers.batch_normalization import BatchNormalization
from keras_transformer.layers.block import BlockScores
from keras_transformer.layers.bucketed_attention import BucketedAttention, DistanceBuckets
from keras_transformer.layers.convolutional_embedding import ConvolutionalEmbedding
from keras_transformer.layers.convolutional_subsampling import ConvolutionalSubsampling
from keras_transformer.layers.decoder import Decoder
from keras_transformer.layers.decoder_block import DecoderBlock
from keras_transformer.layers.encoder import Encoder
from keras_transformer.layers.encoder_block import EncoderBlock
from keras_transformer.layers.feature_map_attention import FeatureMapAttention
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.gated_feed_forward import GatedFeedForward
from keras_transformer.layers.grid_positional_encoding import (
    GridPositionalEncoding,
    LearnedGridPositionalEncoding,
)
from keras_transformer.layers.linear_bias_attention import LinearBiasAttention
from keras_transformer.layers.log_mel_spectrogram import LogMelSpectrogram
from keras_transformer.layers.multi_head_attention import MultiHeadAttention
from keras_transformer.layers.patch_embedding import PatchEmbedding
from keras_transformer.layers.positional_encoding import LearnedPositionalEncoding, PositionalEncoding
from keras_transformer.layers.power_normalization import PowerNormalization
from keras_transformer.layers.relative_attention import RelativeAttention
from keras_transformer.layers.residual import Residual
from keras_transformer.layers.residual_convolutions import ResidualConvolutions
from keras_transformer.layers.rotary_attention import RotaryAttention
from keras_transformer.layers.spec_augment import SpecAugment
from keras_transformer.layers.token_embedding import TokenEmbedding
from keras_transformer.ops.cache import BlockCache, KVCache
from keras_transformer.ops.positions import shift_matrix, sinusoidal_encoding
from keras_transformer.ops.values import set_value_checks
from keras_transformer.verification import verify

__all__ = [
    "AdditiveAttention",
    "AttentionPooling",
    "BatchNormalization",
    "BlockCache",
    "BlockScores",
    "BucketedAttention",
    "ConvolutionalEmbedding",
    "ConvolutionalSubsampling",
    "Decoder",
    "DecoderBlock",
    "DistanceBuckets",
    "Encoder",
    "EncoderBlock",
    "FeatureMapAttention",
    "FeedForward",
    "GatedFeedForward",
    "GridPositionalEncoding",
    "KVCache",
    "LearnedGridPositionalEncoding",
    "LearnedPositionalEncoding",
    "LinearBiasAttention",
    "LogMelSpectrogram",
    "MultiHeadAttention",
    "PatchEmbedding",
    "PositionalEncoding",
    "PowerNormalization",
    "RelativeAttention",
    "Residual",
    "ResidualConvolutions",
    "RotaryAttention",
    "SpecAugment",
    "TokenEmbedding",
    "set_value_checks",
    "shift_matrix",
    "sinusoidal_encoding",
    "verify",
]
