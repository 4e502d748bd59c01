"""Transformer decoder block."""

import keras
from keras import ops

from keras_transformer.layers.block import BlockScores, TransformerBlock, join_outputs
from keras_transformer.ops import masks
from keras_transformer.ops.cache import BlockCache, count_beams


@keras.saving.register_keras_serializable("keras_transformer")
class DecoderBlock(TransformerBlock):
    """Applies causal self-attention, cross-attention to a memory and a feed-forward layer.

    Each is inside a residual (Vaswani et al. 2017, figure 1, right).

    Args:
        num_heads, intermediate_dim, dropout, attention_dropout, activation_dropout, activation, normalize_first,
            epsilon: As in `EncoderBlock`.

    Call arguments:
        inputs: Float `[B, T, D]`.
        memory: Float `[B, S, D']`, the encoder's output; omitted with a cache, which holds its projection.
        inputs_mask, memory_mask: Boolean `[B, T]` and `[B, S]`, True at real steps; default to the masks that
            the tensors carry (`mask` is another name of `inputs_mask`, which Keras fills when there is one
            tensor). The outputs carry `mask` or the one that `inputs` carries.
        attention_mask: Mask of self-attention besides padding, `[B, T, T]` or other shapes; with a cache of L steps
            and K beams `[B, K, L * K]`; see `MultiHeadAttention`.
        use_causal_mask: Whether step t sees target steps up to t only; False for non-autoregressive decoding.
        return_attention_scores: Whether to return the attention weights as well.
        cache: `BlockCache` from `init_cache`; inputs are then the steps from `cache_index` on, or all steps if the
            cache has no past.
        cache_index: Integer scalar, the number of steps already in the cache; omitted if it has no past.
        packing, memory_packing: `Packing` of the inputs and of the memory, both packed, `[1, M, D]` and `[1, M', D']`;
            the outputs are then packed as the inputs are.

    Returns:
        Float `[B, T, D]`; or a tuple of it, the attention weights as `BlockScores(self_attention, cross_attention)`,
        float32 `[B, N, T, T]` and `[B, N, T, S]`, if requested, and the new cache if steps are written to one.

    Raises:
        ValueError: If D is unknown or not a multiple of `num_heads`, if neither memory nor cache is given,
            or a mask has the wrong shape or type.
    """

    def build(self, inputs_shape, memory_shape=None):
        self.cross_attention_residual = self._make_residual("cross_attention_residual")
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
        mask = masks.attached_mask(inputs, mask, inputs_mask)
        steps_mask = None if packing is not None else mask  # Packed steps are all real.
        x, self_scores, self_cache = self._attend_to_self(
            inputs,
            steps_mask,
            return_attention_scores,
            None if cache is None else cache.self_attention,
            packing,
            value_mask=mask,
            attention_mask=attention_mask,
            use_causal_mask=use_causal_mask,
            cache_index=cache_index,
        )
        attended = self.cross_attention(
            self.cross_attention_residual.prepare(x, steps_mask),
            memory,
            value_mask=masks.attached_mask(memory, memory_mask),
            return_attention_scores=return_attention_scores,
            cache=None if cache is None else cache.cross_attention,
            num_beams=self._num_beams(inputs, cache, attention_mask),
            packing=packing,
            value_packing=memory_packing,
        )
        attended, cross_scores = attended if return_attention_scores else (attended, None)
        scores = BlockScores(self_scores, cross_scores) if return_attention_scores else None
        x = self._feed_forward(self.cross_attention_residual(x, attended, inputs_mask=steps_mask), steps_mask)
        return join_outputs(x, scores, None if self_cache is None else BlockCache(self_cache, cache.cross_attention))

    def _num_beams(self, inputs, cache, attention_mask):
        """Returns the number of beams that share a memory, or None without a cache."""
        if cache is None:
            return None
        if cache.self_attention is None:
            return count_beams(inputs, cache.cross_attention, self.num_heads, None, writes=False)
        return count_beams(inputs, cache.self_attention, self.num_heads, attention_mask, writes=True)

    def init_cache(self, memory, length: int | None, num_beams: int = 1) -> BlockCache:
        """Projects the memory `[B, S, D']` once, and makes room for `length` steps of K = `num_beams` beams a sentence.

        The rows of the inputs are then B * K, beam-minor: row b * K + k for beam k of sentence b. With a length of None
        there is no past: all steps are computed in each call, of any number K of rows a sentence.
        """
        past = None
        if length is not None:
            past = self.self_attention.init_cache(ops.shape(memory)[0], length * num_beams)
        return BlockCache(past, self.cross_attention.project(memory))
