"""Transformer encoder block; with a causal mask, the block of a language model."""

import keras

from keras_transformer.layers.block import TransformerBlock, join_outputs
from keras_transformer.ops import masks
from keras_transformer.ops.cache import KVCache


@keras.saving.register_keras_serializable("keras_transformer")
class EncoderBlock(TransformerBlock):
    """Applies self-attention and a feed-forward layer, each inside a residual (Vaswani et al. 2017, figure 1, left).

    Args:
        num_heads: Heads N; divides the width D of the inputs.
        intermediate_dim: Inner width F of the feed-forward layer.
        dropout: Rate after each sublayer.
        attention_dropout: Rate on the attention weights.
        activation_dropout: Rate inside the feed-forward layer.
        activation: Activation of the feed-forward layer.
        normalize_first: Pre-norm if True, post-norm as published if False.
        epsilon: Added to the variance by the layer normalisations.

    Call arguments:
        inputs: Float `[B, T, D]`.
        mask: Boolean `[B, T]`, True at real steps (`inputs_mask` is the same; Keras fills one or the other);
            defaults to the mask that `inputs` carries. The outputs carry that one or `mask`.
        attention_mask: Mask besides padding, `[B, T, T]` or other shapes; see `MultiHeadAttention`.
        use_causal_mask: Whether step t sees steps up to t only: the GPT block.
        return_attention_scores: Whether to return the attention weights as well.
        cache: `KVCache` from `init_cache`; inputs are then the steps from `cache_index` on, attended causally.
        cache_index: Integer scalar, the number of steps already in the cache.
        packing: `Packing` of the inputs if they are packed, `[1, M, D]`; the outputs are then packed too.

    Returns:
        Float `[B, T, D]`; or a tuple of it, the attention weights, float32 `[B, N, T, S]`, if requested, and the new
        cache if there is one.

    Raises:
        ValueError: If D is unknown or not a multiple of `num_heads`, or a mask has the wrong shape or type.
    """

    def build(self, inputs_shape):
        self._build_common(inputs_shape)

    def call(
        self,
        inputs,
        mask=None,
        inputs_mask=None,
        attention_mask=None,
        use_causal_mask=False,
        return_attention_scores=False,
        cache=None,
        cache_index=None,
        packing=None,
    ):
        mask = None if cache is not None else masks.attached_mask(inputs, mask, inputs_mask)
        steps_mask = None if packing is not None else mask  # Packed steps are all real.
        x, scores, cache = self._attend_to_self(
            inputs,
            steps_mask,
            return_attention_scores,
            cache,
            packing,
            value_mask=mask,
            attention_mask=attention_mask,
            use_causal_mask=use_causal_mask,
            cache_index=cache_index,
        )
        return join_outputs(self._feed_forward(x, steps_mask), scores, cache)

    def init_cache(self, batch_size: int, length: int) -> KVCache:
        """Returns an empty `KVCache` for at most `length` steps."""
        return self.self_attention.init_cache(batch_size, length)
