"""Encoder-decoder Transformer."""

import keras
from keras import ops

from keras_transformer import Decoder, Encoder, PositionalEncoding, TokenEmbedding
from keras_transformer.layers.dropout import Dropout
from keras_transformer.ops import masks
from keras_transformer.ops.values import check_token_ids
from zoo.config import PAD_ID, ModelConfig
from zoo.models.encoder_model import ConfiguredModel
from zoo.models.step_decoding import StepDecoding
from zoo.models.t5_stacks import T5Decoder, T5Encoder


class EncoderDecoder(ConfiguredModel):
    """Base of models of an encoder and a decoder.

    Axes: B batch, S source steps, T target steps, K beams, V vocabulary, D width.

    Args:
        config: Sizes and rates.
    """

    def __init__(self, config: ModelConfig, **kwargs):
        super().__init__(config, **kwargs)
        policy = self.dtype_policy
        self.embedding = TokenEmbedding(
            config.vocabulary_size, config.hidden_dim, mask_zero=False, dtype=policy, name="embedding"
        )
        self.output_embedding, self.positions = None, None
        if config.architecture == "t5.1.1":
            self.output_embedding = TokenEmbedding(
                config.vocabulary_size, config.hidden_dim, mask_zero=False, dtype=policy, name="output_embedding"
            )
        if config.architecture == "transformer":
            self.positions = PositionalEncoding(dtype=policy, name="positions")
        self.embedding_dropout = Dropout(config.dropout, dtype=policy, name="embedding_dropout")
        arguments = {**config.block_arguments(), "dtype": policy}
        stacks = Encoder, Decoder
        if config.architecture != "transformer":
            stacks = T5Encoder, T5Decoder
            arguments |= {"key_dim": config.key_dim or None, "gated": config.architecture == "t5.1.1"}
        self.encoder = stacks[0](config.num_encoder_layers, **arguments, name="encoder")
        self.decoder = stacks[1](config.num_decoder_layers, **arguments, name="decoder")

    def build(self, inputs_shape=None):
        vectors = (None, None, self.config.hidden_dim)
        self.embedding.build()
        if self.output_embedding is not None:
            self.output_embedding.build()
        if self.positions is not None:
            self.positions.build(vectors)
        self.encoder.build(vectors)
        self.decoder.build(vectors, vectors)
        if self.config.output_bias:
            self.output_bias = self.add_weight(
                name="output_bias", shape=(self.config.vocabulary_size,), initializer="zeros"
            )
        self.built = True

    def check_inputs(self, inputs):
        """Raises `ValueError` if an id of `source` or `target` is outside of the vocabulary, in an eager call."""
        for name in ("source", "target"):
            check_token_ids(name, inputs[name], self.config.vocabulary_size)

    def logits(self, x, output_kernel=None):
        """Computes logits `[..., V]` from vectors `[..., D]`."""
        logits = self.output_table.logits(x, output_kernel)
        return logits + ops.cast(self.output_bias, logits.dtype) if self.config.output_bias else logits

    def embed(self, token_ids, start_index=0):
        """Embeds ids `[B, T]` as vectors `[B, T, D]`, the first at position `start_index`."""
        x = self.embedding(token_ids)
        return self.embedding_dropout(x if self.positions is None else self.positions(x, start_index=start_index))

    def encode(self, source):
        """Encodes source ids `[B, S]` as the memory `[B, S, D]`."""
        return self.encoder(self.embed(source), mask=masks.padding_mask(source, PAD_ID))

    @property
    def output_table(self) -> TokenEmbedding:
        """The embedding whose table gives the logits."""
        return self.embedding if self.output_embedding is None else self.output_embedding


@keras.saving.register_keras_serializable("zoo")
class Seq2Seq(StepDecoding, EncoderDecoder):
    """Transformer of Vaswani et al. (2017), which predicts each token from those before it; or T5.

        x = Dropout(sqrt(D) E[ids] + PE),  memory = Encoder(x_source),  logits = Decoder(x_target, memory) E^T (+ b)

    One embedding table E serves source, target and output.
    T5 (Raffel et al. 2020) has no PE: its self-attention knows distances. Its E is sqrt(D) times this one, as it is not
    scaled here but in the logits. T5 1.1 has another matrix for the logits, which it does not scale.

    Args:
        config: Sizes and rates.

    Call arguments:
        inputs: Dictionary of int `source` `[B, S]` and `target` `[B, T]`, padded with 0; the target begins with
            the start token, and step t predicts token t + 1.

    Returns:
        Logits `[B, T, V]` in the compute dtype; losses and searches cast them to float32.

    Raises:
        ValueError: If an id is outside of the vocabulary, in an eager call.
    """

    config_class, default_name = ModelConfig, "seq2seq"

    def call(self, inputs, training=None):
        # `training` is not used here, but `fit` sets it only for models whose `call` has this argument: without it,
        # the dropout layers inside would do nothing.
        source, target = inputs["source"], inputs["target"]
        self.check_inputs(inputs)
        memory_mask = masks.padding_mask(source, PAD_ID)
        x = self.decoder(
            self.embed(target),
            self.encode(source),
            inputs_mask=masks.padding_mask(target, PAD_ID),
            memory_mask=memory_mask,
        )
        return self.logits(x)

    def init_state(self, source, num_beams, length=1):
        """Encodes `source` `[B, S]` and returns the state for decoding with `num_beams` beams; see `memory_state`."""
        return self.memory_state(self.encode(source), masks.padding_mask(source, PAD_ID), num_beams, length)
