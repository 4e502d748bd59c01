"""Model that writes the text of a recording."""

import math

import keras
from keras import ops

from keras_transformer import (
    ConvolutionalSubsampling,
    Decoder,
    DecoderBlock,
    Encoder,
    EncoderBlock,
    LogMelSpectrogram,
    RotaryAttention,
    SpecAugment,
    TokenEmbedding,
)
from keras_transformer.layers.dropout import Dropout
from keras_transformer.ops import masks
from keras_transformer.ops.values import check_token_ids
from zoo.config import PAD_ID
from zoo.models.class_padding import certain_positions
from zoo.models.encoder_model import ConfiguredModel
from zoo.models.step_decoding import StepDecoding
from zoo.speech_config import SpeechConfig

_RANGE = 8 * math.log(10)  # 80 dB, as energy is a square.


@keras.saving.register_keras_serializable("zoo")
class LocalEncoderBlock(EncoderBlock):
    """`EncoderBlock` with rotary positions; steps see those less than `attention_window` steps away, with 0 all."""

    def __init__(self, *arguments, attention_window: int = 0, **kwargs):
        self.attention_window = attention_window
        super().__init__(*arguments, **kwargs)

    def _make_attention(self, width, name):
        return RotaryAttention(
            self.num_heads,
            width // self.num_heads,
            dropout=self.attention_dropout,
            sliding_window=self.attention_window or None,
            pairing="halves",
            dtype=self.dtype_policy,
            name=name,
        )

    def get_config(self):
        return {**super().get_config(), "attention_window": self.attention_window}


@keras.saving.register_keras_serializable("zoo")
class LocalEncoder(Encoder):
    """Stack of `LocalEncoderBlock`."""

    block_class = LocalEncoderBlock


@keras.saving.register_keras_serializable("zoo")
class RotaryDecoderBlock(DecoderBlock):
    """`DecoderBlock` with rotary positions in its self-attention."""

    attention_class = RotaryAttention


@keras.saving.register_keras_serializable("zoo")
class RotaryDecoder(Decoder):
    """Stack of `RotaryDecoderBlock`."""

    block_class = RotaryDecoderBlock


@keras.saving.register_keras_serializable("zoo")
class SpeechRecognizer(StepDecoding, ConfiguredModel):
    """Encodes sound, and predicts each token of its text from those before it; CTC reads the text off the same frames.

        x = SpecAugment(relative(LogMel(sound))),  memory = Encoder(Dropout(Conv(x)))
        logits = Decoder(E[ids], memory) E^T,  CTC: memory W + b

    (Watanabe et al. 2017; convolutions and scale of the frames as in Radford et al. 2023.) Frames are relative to the
    loudest band of the recording, so its volume does not matter. All positions are distances (rotary ones), and the
    encoder sees a window only, so it computes the same of a word anywhere in a recording, however long that is, at a
    cost that grows with its length.
    Axes: B batch, S samples, F steps of the encoder, T target steps, V vocabulary, D width.

    Args:
        config: Sizes and rates.

    Call arguments:
        inputs: Dictionary of `samples` `[B, S]`, int16 or floats from -1 to 1; int `num_samples` `[B]`; and int
            `target` `[B, T]`, padded with 0, which begins with the start token.

    Returns:
        Logits `[B, T + F, V]` in the compute dtype: those of the tokens, and those of the frames for CTC, whose blank
        is the padding. Frames behind the end of a recording are blank for certain.

    Raises:
        ValueError: If an id is outside of the vocabulary, in an eager call.
    """

    config_class, default_name = SpeechConfig, "speech_recognizer"

    def __init__(self, config: SpeechConfig, **kwargs):
        super().__init__(config, **kwargs)
        policy, width = self.dtype_policy, config.hidden_dim
        self.spectrogram = LogMelSpectrogram(config.sampling_rate, config.num_mels, dtype="float32", name="spectrogram")
        bars = "time_masks", "time_width", "time_share", "frequency_masks", "frequency_width"
        bars = {name: getattr(config, name) for name in bars}
        self.spec_augment = SpecAugment(**bars, dtype="float32", name="spec_augment")
        self.subsampling = ConvolutionalSubsampling(width, config.num_convolutions, dtype=policy, name="subsampling")
        self.frame_dropout = Dropout(config.dropout, dtype=policy, name="frame_dropout")
        arguments = {**config.block_arguments(), "dtype": policy}
        window = {"attention_window": config.attention_window}
        self.encoder = LocalEncoder(config.num_encoder_layers, **arguments, **window, name="encoder")
        self.ctc_head = keras.layers.Dense(config.vocabulary_size, dtype=policy, name="ctc_head")
        table = {"mask_zero": False, "dtype": policy, "name": "embedding"}
        self.embedding = TokenEmbedding(config.vocabulary_size, width, **table)
        self.embedding_dropout = Dropout(config.dropout, dtype=policy, name="embedding_dropout")
        self.decoder = RotaryDecoder(config.num_decoder_layers, **arguments, name="decoder")

    def build(self, inputs_shape=None):
        vectors = (None, None, self.config.hidden_dim)
        self.spectrogram.build((None, None))
        self.spec_augment.build()
        self.subsampling.build((None, None, self.config.num_mels))
        self.encoder.build(vectors)
        self.ctc_head.build(vectors)
        self.embedding.build()
        self.decoder.build(vectors, vectors)
        self.built = True

    def call(self, inputs, training=None):
        target = inputs["target"]
        check_token_ids("target", target, self.config.vocabulary_size)
        memory, memory_mask = self.encode(inputs["samples"], inputs["num_samples"])
        x = self.decoder(
            self.embed(target), memory, inputs_mask=masks.padding_mask(target, PAD_ID), memory_mask=memory_mask
        )
        return ops.concatenate([self.logits(x), self.frame_logits(memory, memory_mask)], axis=1)

    def encode(self, samples, num_samples):
        """Encodes recordings; returns the memory `[B, F, D]` and its mask `[B, F]`."""
        if "int" in keras.backend.standardize_dtype(samples.dtype):
            samples = ops.cast(samples, "float32") / 2**15
        mask = ops.arange(ops.shape(samples)[1])[None, :] < num_samples[:, None]
        x = self.spectrogram(samples, mask=mask)
        mask = self.spectrogram.compute_mask(samples, mask)
        x = self.spec_augment(relative_to_loudest(x, mask), mask=mask)
        x = self.frame_dropout(self.subsampling(x, mask=mask))
        mask = self.subsampling.compute_mask(x, mask)
        return self.encoder(x, mask=mask), mask

    def frame_logits(self, memory, memory_mask):
        """Computes the logits of CTC `[B, F, V]`."""
        return certain_positions(self.ctc_head(memory), ops.logical_not(memory_mask), PAD_ID)

    def embed(self, token_ids, start_index=0):
        """Embeds ids `[B, T]` as vectors `[B, T, D]`; positions are in the decoder, so `start_index` has no effect."""
        return self.embedding_dropout(self.embedding(token_ids))

    def logits(self, x, output_kernel=None):
        """Computes logits `[..., V]` from vectors `[..., D]`."""
        return self.embedding.logits(x, output_kernel)

    @property
    def output_table(self) -> TokenEmbedding:
        """The embedding whose table gives the logits."""
        return self.embedding


def relative_to_loudest(x, mask):
    """Maps log energies `[B, F, M]` so that the loudest of each recording is 1, and 80 dB below it, and less, are -1.

    Mean and deviation of each band would take away what distinguishes vowels in a recording of a single word.
    """
    real = mask[..., None]
    loudest = ops.max(ops.where(real, x, -1e4), axis=(1, 2), keepdims=True)
    x = ops.maximum((x - loudest) * (2 / _RANGE) + 1, -1)
    return ops.where(real, x, 0)
