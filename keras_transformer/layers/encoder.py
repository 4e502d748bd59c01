"""Stack of encoder blocks."""

import keras

from keras_transformer.layers.encoder_block import EncoderBlock
from keras_transformer.layers.stack import TransformerStack
from keras_transformer.ops.cache import KVCache


@keras.saving.register_keras_serializable("keras_transformer")
class Encoder(TransformerStack):
    """Stack of N encoder blocks, in pre-norm with a final layer normalisation (Vaswani et al. 2017, section 3.1).

    Args:
        num_layers: Blocks N.
        num_heads, intermediate_dim, dropout, attention_dropout, activation_dropout, activation,
            normalize_first, epsilon: Arguments of every `EncoderBlock`. Others that a `block_class` adds go to it too.
        skip_padding: Whether the blocks compute only the real steps of the mask; outputs at padding are then zeros.
            Saves time in wide models where a fifth or more is padding. TensorFlow only, not under XLA: `compile` leaves
            it out.
        remat: Whether training computes each block a second time in the backward pass instead of keeping its
            intermediate results (`keras.remat`; Chen et al. 2016): less memory, more time, the same gradients.

    Call arguments:
        inputs: Float `[B, T, D]`.
        mask, inputs_mask: Boolean `[B, T]`, True at real steps; default to the mask that `inputs` carries. The
            outputs carry that one or `mask`.
        attention_mask: Mask besides padding, `[B, T, T]` or other shapes; see `MultiHeadAttention`.
        use_causal_mask: Whether step t sees steps up to t only.
        return_attention_scores: Whether to return the attention weights of all blocks as well.
        cache: Tuple of N caches from `init_cache`; inputs are then the steps from `cache_index` on.
        cache_index: Integer scalar, the number of steps already in the cache.
        training: Whether the dropouts are active and `remat` applies.

    Returns:
        Float `[B, T, D]`; or a tuple of it, the weights that each `EncoderBlock` returns, as a tuple, if requested,
        and the new caches if there are any.

    Raises:
        ValueError: See `EncoderBlock`.
    """

    block_class = EncoderBlock

    def build(self, inputs_shape):
        super().build(inputs_shape)

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
        training=None,
    ):
        return self._run(
            inputs,
            mask,
            inputs_mask,
            cache,
            return_attention_scores,
            training,
            attention_mask=attention_mask,
            use_causal_mask=use_causal_mask,
            cache_index=cache_index,
        )

    def init_cache(self, batch_size: int, length: int) -> tuple[KVCache, ...]:
        """Returns one empty cache per block, for at most `length` steps."""
        return tuple(block.init_cache(batch_size, length) for block in self.blocks)
