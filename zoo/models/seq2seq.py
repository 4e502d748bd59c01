"""Encoder-decoder Transformer: token ids in, token logits out."""

import dataclasses

import keras
from keras import ops

from keras_transformer import Decoder, Encoder, PositionalEncoding, TokenEmbedding
from keras_transformer.decoding import PerSentence
from keras_transformer.layers.dropout import Dropout
from keras_transformer.ops import masks
from keras_transformer.ops.ancestry import add_step, no_ancestors, visible_slots
from keras_transformer.ops.values import check_token_ids
from zoo.config import PAD_ID, ModelConfig


@keras.saving.register_keras_serializable("zoo")
class Seq2Seq(keras.Model):
    """The Transformer of Vaswani et al. (2017), with one table for source, target and output embeddings.

        x = Dropout(sqrt(D) E[ids] + PE),  memory = Encoder(x_source),  logits = Decoder(x_target, memory) E^T

    Axes: B batch, S source steps, T target steps, K beams, V vocabulary, D width.

    Args:
        config: Sizes and rates.

    Call arguments:
        inputs: Dictionary of int `source` `[B, S]` and `target` `[B, T]`, padded with 0; the target begins with
            the start token, and step t predicts token t + 1.

    Returns:
        Logits `[B, T, V]` in the compute dtype; loss and searches go on in float32.

    Raises:
        ValueError: If an id is outside of the vocabulary, in an eager call.
    """

    def __init__(self, config: ModelConfig, **kwargs):
        kwargs.setdefault("name", "seq2seq")
        super().__init__(**kwargs)
        self.config = config
        policy = self.dtype_policy
        self.embedding = TokenEmbedding(
            config.vocabulary_size, config.hidden_dim, mask_zero=False, dtype=policy, name="embedding"
        )
        self.positions = PositionalEncoding(dtype=policy, name="positions")
        self.embedding_dropout = Dropout(config.dropout, dtype=policy, name="embedding_dropout")
        block_arguments = {
            "num_heads": config.num_heads,
            "intermediate_dim": config.intermediate_dim,
            "dropout": config.dropout,
            "attention_dropout": config.attention_dropout,
            "activation_dropout": config.activation_dropout,
            "normalize_first": config.normalize_first,
            "dtype": policy,
        }
        self.encoder = Encoder(config.num_encoder_layers, **block_arguments, name="encoder")
        self.decoder = Decoder(config.num_decoder_layers, **block_arguments, name="decoder")

    def build(self, inputs_shape=None):
        vectors = (None, None, self.config.hidden_dim)
        self.embedding.build()
        self.positions.build(vectors)
        self.encoder.build(vectors)
        self.decoder.build(vectors, vectors)
        self.built = True

    def call(self, inputs, training=None):
        # `training` is not used here, but only a model that takes it is told by `fit` that it trains: without it,
        # no layer inside drops anything.
        source, target = inputs["source"], inputs["target"]
        for name, token_ids in inputs.items():
            check_token_ids(name, token_ids, self.config.vocabulary_size)
        memory_mask = masks.padding_mask(source, PAD_ID)
        x = self.decoder(
            self.embed(target),
            self.encode(source),
            inputs_mask=masks.padding_mask(target, PAD_ID),
            memory_mask=memory_mask,
        )
        return self.embedding.logits(x)

    def embed(self, token_ids, start_index=0):
        """Ids `[B, T]` to vectors `[B, T, D]`, the first at position `start_index`."""
        return self.embedding_dropout(self.positions(self.embedding(token_ids), start_index=start_index))

    def encode(self, source):
        """Source ids `[B, S]` to the memory `[B, S, D]`."""
        return self.encoder(self.embed(source), mask=masks.padding_mask(source, PAD_ID))

    def init_state(self, source, num_beams, length):
        """Encodes `source` `[B, S]` for decoding `length` steps of `num_beams` beams a sentence: what `step` needs."""
        batch = ops.shape(source)[0]
        caches = self.decoder.init_cache(self.encode(source), length, num_beams)
        memories = caches, masks.padding_mask(source, PAD_ID)
        return no_ancestors(batch * num_beams, length), PerSentence(memories)

    def step_function(self, num_beams):
        """The function `(ids [B * K], state, index) -> (logits [B * K, V], state)` that a search calls.

        To be made in the graph that the search is made in: it holds the matrix of the output, made once.
        """
        output_kernel = self.embedding.output_kernel()

        def step(token_ids, state, index):
            (ancestors, of_sentences), visible = state, None
            caches, memory_mask = of_sentences.tensors
            if num_beams > 1:
                ancestors = add_step(ancestors, index, num_beams)
                visible = visible_slots(ancestors, num_beams)
            x, caches = self.decoder(
                self.embed(token_ids[:, None], start_index=index),
                memory_mask=memory_mask,
                attention_mask=visible,
                cache=caches,
                cache_index=index,
            )
            return self.embedding.logits(x[:, 0], output_kernel), (ancestors, PerSentence((caches, memory_mask)))

        return step

    def get_config(self):
        return {**super().get_config(), "config": dataclasses.asdict(self.config)}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "config": ModelConfig(**config["config"])})
