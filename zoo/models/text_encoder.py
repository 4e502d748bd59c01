"""Front end and stack of all encoder models."""

import keras
from keras import ops

from keras_transformer import Encoder, LearnedPositionalEncoding, PositionalEncoding, TokenEmbedding
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.normalization import LayerNormalization
from keras_transformer.ops import masks
from keras_transformer.ops.values import check_token_ids
from zoo.config import PAD_ID, EncoderConfig


@keras.saving.register_keras_serializable("zoo")
class TextEncoder(keras.layers.Layer):
    """Encodes token ids as vectors.

        x = Dropout(sqrt(D) E[ids] + P + G[segments]),  y = Encoder(x)          (Vaswani et al. 2017)
        x = Dropout(LayerNorm(E[ids] + P + G[segments])),  y = Encoder(x)       (BERT: Devlin et al. 2019)

    Axes: B batch, T steps, D width.

    Args:
        config: Sizes and rates.

    Call arguments:
        inputs: Dictionary of int `token_ids` `[B, T]`, padded with 0, and optionally `segment_ids` `[B, T]`, by
            default zeros.
        added: Float `[B, T, D]` to add to the embeddings, or None.

    Returns:
        Float `[B, T, D]`, and the boolean mask of real steps `[B, T]`.

    Raises:
        ValueError: If an id is outside of its table, in an eager call.
    """

    def __init__(self, config: EncoderConfig, **kwargs):
        super().__init__(**kwargs)
        self.config = config
        named = {"dtype": self.dtype_policy}
        table = {"mask_zero": False, "scale": not config.bert_embeddings, **named}
        self.embedding = TokenEmbedding(config.vocabulary_size, config.hidden_dim, **table, name="embedding")
        if config.max_positions:
            self.positions = LearnedPositionalEncoding(config.max_positions, **named, name="positions")
        else:
            self.positions = PositionalEncoding(**named, name="positions")
        self.segments = self.embedding_norm = None
        if config.num_segments:
            self.segments = TokenEmbedding(config.num_segments, config.hidden_dim, **table, name="segments")
        if config.bert_embeddings:
            self.embedding_norm = LayerNormalization(config.epsilon, **named, name="embedding_norm")
        self.embedding_dropout = Dropout(config.dropout, **named, name="embedding_dropout")
        self.encoder = Encoder(config.num_layers, **config.block_arguments(), **named, name="encoder")

    def build(self, inputs_shape=None):
        vectors = (None, None, self.config.hidden_dim)
        for table in (self.embedding, self.segments):
            if table is not None:
                table.build()
        for layer in (self.positions, self.embedding_norm, self.encoder):
            if layer is not None:
                layer.build(vectors)
        self.built = True

    def call(self, inputs, added=None):
        token_ids = inputs["token_ids"]
        check_token_ids("token_ids", token_ids, self.config.vocabulary_size)
        mask = masks.padding_mask(token_ids, PAD_ID)
        x = self.positions(self.embedding(token_ids))
        if self.segments is not None:
            x = x + self.segments(inputs.get("segment_ids", ops.zeros_like(token_ids)))
        if added is not None:
            x = x + added
        if self.embedding_norm is not None:
            x = self.embedding_norm(x)
        return self.encoder(self.embedding_dropout(x), mask=mask), mask

    def layers_bottom_up(self) -> list[list[keras.layers.Layer]]:
        """Returns the embedding layers, then each block in a list of its own; without a final normalization."""
        embeddings = self.embedding, self.positions, self.segments, self.embedding_norm
        return [[layer for layer in embeddings if layer is not None], *([block] for block in self.encoder.blocks)]


def masked_mean(x, mask):
    """Computes the mean `[B, D]` of x `[B, T, D]` over the steps where the mask `[B, T]` is True, zeros if none is."""
    weights = ops.cast(mask, "float32")
    # LiteRT has no einsum of sizes that are not known.
    total = ops.squeeze(ops.matmul(ops.expand_dims(weights, 1), ops.cast(x, "float32")), 1)
    return ops.cast(total / ops.maximum(ops.sum(weights, axis=1, keepdims=True), 1.0), x.dtype)
