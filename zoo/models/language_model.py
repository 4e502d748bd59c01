"""Decoder-only Transformer: a language model."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_transformer import (
    Encoder,
    EncoderBlock,
    GatedFeedForward,
    LearnedPositionalEncoding,
    RotaryAttention,
    TokenEmbedding,
)
from keras_transformer.decoding import PerSentence
from keras_transformer.layers.dropout import Dropout
from keras_transformer.ops import masks
from keras_transformer.ops.cache import KVCache
from keras_transformer.ops.values import check_token_ids
from zoo.config import PAD_ID, LanguageModelConfig
from zoo.models.class_padding import NEVER
from zoo.models.encoder_model import ConfiguredModel
from zoo.models.rms_residual import RMSResidual


@keras.saving.register_keras_serializable("zoo")
class LlamaBlock(EncoderBlock):
    """`EncoderBlock` with rotary positions, RMS normalization and a gate (Touvron et al. 2023, section 2.2)."""

    residual_class = RMSResidual

    def _make_attention(self, width, name):
        return RotaryAttention(
            self.num_heads,
            width // self.num_heads,
            dropout=self.attention_dropout,
            use_bias=False,
            pairing="halves",  # As in published weights; and contiguous halves take half the time of strided pairs.
            dtype=self.dtype_policy,
            name=name,
        )

    def _make_feed_forward(self):
        return GatedFeedForward(
            self.intermediate_dim,
            self.activation,
            dropout=self.activation_dropout,
            dtype=self.dtype_policy,
            name="feed_forward",
        )


@keras.saving.register_keras_serializable("zoo")
class LlamaStack(Encoder):
    """Stack of `LlamaBlock`."""

    block_class = LlamaBlock


STACKS = {"llama": LlamaStack, "gpt2": Encoder}


@keras.saving.register_keras_serializable("zoo")
class LanguageModel(ConfiguredModel):
    """Predicts each token from those before it, with one embedding table for input and output.

        x = Dropout(E[ids] (+ P)),  logits = Blocks(x) E^T

    The logits of the first `config.num_impossible` tokens are -10,000 instead.
    P are learned positions ("gpt2": Radford et al. 2019); rotary ones are inside of the blocks ("llama": Touvron et
    al. 2023), whose embeddings are scaled by the root of D (Vaswani et al. 2017).
    Axes: B batch, T steps, V vocabulary, D width.

    Args:
        config: Sizes and rates.

    Call arguments:
        inputs: Dictionary of int `token_ids` `[B, T]`, padded with 0 at the end, and optionally int `segment_ids`
            `[B, T]`: a step sees those of its own segment only, so that a row can hold several documents.

    Returns:
        Logits `[B, T, V]` of the next tokens, in the compute dtype.

    Raises:
        ValueError: If an id is outside of the vocabulary, in an eager call, or T above `config.max_positions`.
    """

    config_class, default_name = LanguageModelConfig, "language_model"

    def __init__(self, config: LanguageModelConfig, **kwargs):
        super().__init__(config, **kwargs)
        policy, learned = self.dtype_policy, config.max_positions > 0
        table = {"mask_zero": False, "scale": not learned, "dtype": policy, "name": "embedding"}
        self.embedding = TokenEmbedding(config.vocabulary_size, config.hidden_dim, **table)
        self.positions = None
        if learned:
            normal = keras.initializers.RandomNormal(stddev=0.02)
            self.positions = LearnedPositionalEncoding(config.max_positions, normal, dtype=policy, name="positions")
        self.embedding_dropout = Dropout(config.dropout, dtype=policy, name="embedding_dropout")
        stack = STACKS[config.architecture]
        self.blocks = stack(config.num_layers, **config.block_arguments(), dtype=policy, name="blocks")

    def build(self, inputs_shape=None):
        vectors = (None, None, self.config.hidden_dim)
        self.embedding.build()
        if self.positions is not None:
            self.positions.build(vectors)
        self.blocks.build(vectors)
        self.built = True

    @property
    def max_positions(self) -> int:
        """The most tokens that the model can read and write, 0 for no limit."""
        return self.config.max_positions

    def call(self, inputs, training=None):
        token_ids, segments = inputs["token_ids"], inputs.get("segment_ids")
        check_token_ids("token_ids", token_ids, self.config.vocabulary_size)
        same = None if segments is None else ops.equal(segments[:, :, None], segments[:, None, :])
        x = self.blocks(self.embed(token_ids), attention_mask=same, use_causal_mask=True)
        return self._logits(x)

    def embed(self, token_ids, positions=None):
        """Embeds ids `[B, T]` as vectors `[B, T, D]`, at int positions `[B, T]`, by default 0 to T - 1."""
        x = self.embedding(token_ids)
        if self.positions is not None:
            x = self.positions(x) if positions is None else self.positions(x, positions=positions)
        return self.embedding_dropout(x)

    def init_state(self, token_ids: Any, length: Any, window: int) -> tuple:
        """Reads prompts; returns the state for generating up to `length` tokens, without logits.

        Args:
            token_ids: Int `[B, P]`, padded with 0 at the beginning, P at least 2. The last tokens are read by the first
                step.
            length: Integer, the most tokens to generate.
            window: A step sees itself and the last `window - 1` steps.
        """
        batch, steps = ops.shape(token_ids)
        real = masks.padding_mask(token_ids, PAD_ID)
        visible = ops.concatenate([real, ops.ones((batch, length), "bool")], axis=1)
        caches = self.blocks.init_cache(batch, steps + length)
        first = ops.sum(ops.cast(ops.logical_not(real), "int32"), axis=1)
        before = token_ids[:, :-1]
        _, caches = self._run(before, first, 0, visible, caches, window)
        return PerSentence((caches, visible, first, steps - 1 + 0 * first)), token_ids[:, -1]

    @property
    def state_size(self) -> int:
        """Number of tensors in a state."""
        return 2 * self.config.num_layers + 3

    def pack_state(self, flat: Sequence) -> PerSentence:
        """Returns the state with these tensors, in their order, whose sizes a graph may not know."""
        head, count = self.config.hidden_dim // self.config.num_heads, 2 * self.config.num_layers
        pairs = [ops.reshape(part, (*ops.shape(part)[:2], head)) for part in flat[:count]]
        caches = tuple(KVCache(*pairs[i : i + 2]) for i in range(0, count, 2))
        return PerSentence((caches, *flat[count:]))

    def make_room(self, state: PerSentence, length: Any) -> PerSentence:
        """Returns a state with room for `length` more tokens."""
        caches, visible, *others = state.tensors
        caches = keras.tree.map_structure(lambda cache: ops.pad(cache, ((0, 0), (0, length), (0, 0))), caches)
        visible = ops.concatenate([visible, ops.ones((ops.shape(visible)[0], length), "bool")], axis=1)
        return PerSentence((caches, visible, *others))

    def step_function(self, window: int):
        """Returns the function `(ids [B], state, index) -> (logits [B, V], state)` that a search calls.

        Call this method in the graph of the search: the function holds a tensor, the output matrix, computed once.
        """
        output_kernel = self.embedding.output_kernel()

        def step(token_ids, state, index):
            caches, visible, first, offset = state.tensors
            index = ops.max(offset, initial=0) + index  # The same for all rows; there may be none.
            x, caches = self._run(token_ids[:, None], first, index, visible, caches, window)
            return self._logits(x[:, 0], output_kernel), PerSentence((caches, visible, first, offset))

        return step

    def occurring_tokens(self, token_ids: Any) -> Any:
        """Returns which tokens occur in each row of ids `[B, T]`, boolean `[B, V]`."""
        rows = ops.broadcast_to(ops.arange(ops.shape(token_ids)[0])[:, None], ops.shape(token_ids))
        places = ops.reshape(ops.stack([rows, ops.cast(token_ids, rows.dtype)], axis=-1), (-1, 2))
        ones = ops.ones_like(places[:, 0])
        return ops.scatter(places, ones, (ops.shape(token_ids)[0], self.config.vocabulary_size)) > 0

    def _logits(self, x, output_kernel=None):
        logits = self.embedding.logits(x, output_kernel)
        if not self.config.num_impossible:
            return logits
        impossible = ops.arange(self.config.vocabulary_size) < self.config.num_impossible
        return ops.where(impossible, ops.cast(NEVER, logits.dtype), logits)

    def _run(self, token_ids, first, index, visible, caches, window):
        """Runs the steps from `index` on; those before `first` `[B]` of a row are padding."""
        steps = masks.query_positions(ops.shape(token_ids)[1], index)
        near = masks.key_positions(ops.shape(visible)[1])[None, :] > steps[:, None] - window
        seen = ops.logical_and(visible[:, None, :], near[None])
        x = self.embed(token_ids, ops.maximum(steps[None, :] - first[:, None], 0))
        return self.blocks(x, attention_mask=seen, cache=caches, cache_index=index)
