"""One block of a Transformer decoder."""

import keras
from keras import ops

from keras_transformer.layers.block import TransformerBlock
from keras_transformer.ops import masks
from keras_transformer.ops.cache import BlockCache


@keras.saving.register_keras_serializable("keras_transformer")
class DecoderBlock(TransformerBlock):
    """Causal self-attention, cross-attention to a memory, feed-forward (Vaswani et al. 2017, figure 1, right).

    Args:
        num_heads: Heads N; divides the width D of the inputs.
        intermediate_dim: Inner width F of the feed-forward layer.
        dropout: Rate after each sublayer.
        attention_dropout: Rate on the attention weights.
        activation_dropout: Rate inside the feed-forward layer.
        activation: Of the feed-forward layer.
        normalize_first: Pre-norm if True, post-norm as published if False.
        epsilon: Added to the variance by the layer normalisations.

    Call arguments:
        inputs: Float `[B, T, D]`.
        memory: Float `[B, S, D']`, the encoder's output; left out with a cache, which holds its projection.
        inputs_mask, memory_mask: Boolean `[B, T]` and `[B, S]`, True at real steps; default to the masks that
            the tensors carry (`mask` is another name of `inputs_mask`, which Keras fills when there is one
            tensor). The outputs carry on `mask` or the one that `inputs` carries.
        attention_mask: Boolean `[B, T, T]`, a pattern of self-attention beyond padding; with a cache of L steps and K
            beams `[B, K, L * K]`, see `MultiHeadAttention`.
        use_causal_mask: Whether step t sees target steps up to t only; False for non-autoregressive decoding.
        return_attention_scores: Whether to return the cross-attention weights `[B, N, T, S]`, float32.
        cache: `BlockCache` of `init_cache`; inputs are then the steps from `cache_index` on.
        cache_index: Integer scalar, the number of steps already in the cache.
        packing, memory_packing: `Packing` of the inputs and of the memory, both packed, `[1, M, D]` and `[1, M', D']`;
            the outputs are then packed as the inputs are.

    Returns:
        Float `[B, T, D]`; with scores `(outputs, scores)`; with a cache `(outputs, cache)`.

    Raises:
        ValueError: If D is unknown or not a multiple of `num_heads`, if neither memory nor cache is given,
            or a mask has the wrong shape or type.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.cross_attention_residual = self._make_residual("cross_attention_residual")

    def build(self, inputs_shape, memory_shape=None):
        self._build_common(inputs_shape)
        self.cross_attention = self._make_attention(inputs_shape[-1], "cross_attention")
        self.cross_attention.build(inputs_shape, memory_shape or inputs_shape)
        self.cross_attention_residual.build(inputs_shape)

    def call(
        self,
        inputs,
        memory=None,
        mask=None,
        inputs_mask=None,
        memory_mask=None,
        attention_mask=None,
        use_causal_mask=True,
        return_attention_scores=False,
        cache=None,
        cache_index=None,
        packing=None,
        memory_packing=None,
    ):
        if (memory is None) == (cache is None):
            raise ValueError(
                "Exactly one of `memory` and `cache` is required. "
                f"Received: memory={'None' if memory is None else 'a tensor'}, "
                f"cache={'None' if cache is None else 'a cache'}. A cache made by `init_cache` holds the memory."
            )
        x, self_cache = self._attend_to_self(
            inputs,
            value_mask=masks.attached_mask(inputs, mask, inputs_mask),
            attention_mask=attention_mask,
            use_causal_mask=use_causal_mask,
            cache=cache,
            cache_index=cache_index,
            packing=packing,
            value_packing=packing,
        )
        attended = self.cross_attention(
            self.cross_attention_residual.prepare(x),
            memory,
            value_mask=masks.attached_mask(memory, memory_mask),
            return_attention_scores=return_attention_scores,
            cache=None if cache is None else cache.cross_attention,
            packing=packing,
            value_packing=memory_packing,
        )
        if return_attention_scores:
            attended, scores = attended
        x = self.cross_attention_residual(x, attended)
        x = self.feed_forward_residual(x, self.feed_forward(self.feed_forward_residual.prepare(x)))
        if return_attention_scores:
            return x, scores
        return x if cache is None else (x, BlockCache(self_cache, cache.cross_attention))

    def init_cache(self, memory, length: int, num_beams: int = 1) -> BlockCache:
        """Projects the memory `[B, S, D']` once, and makes room for `length` steps of K = `num_beams` beams a sentence.

        The rows of the inputs are then B * K, beam-minor: row b * K + k for beam k of sentence b.
        """
        past = self.self_attention.init_cache(ops.shape(memory)[0], length * num_beams)
        return BlockCache(past, self.cross_attention.project(memory))

    def _attend_to_self(self, inputs, cache, **arguments):
        query = self.self_attention_residual.prepare(inputs)
        cache = None if cache is None else cache.self_attention
        attended = self.self_attention(query, query, cache=cache, **arguments)
        attended, self_cache = (attended, None) if cache is None else attended
        return self.self_attention_residual(inputs, attended), self_cache
