"""Stack of decoder blocks."""

import keras

from keras_transformer.layers.decoder_block import DecoderBlock
from keras_transformer.layers.stack import TransformerStack
from keras_transformer.ops import masks
from keras_transformer.ops.cache import BlockCache
from keras_transformer.ops.values import check_dense


@keras.saving.register_keras_serializable("keras_transformer")
class Decoder(TransformerStack):
    """Stack of N decoder blocks, in pre-norm with a final layer normalisation (Vaswani et al. 2017, section 3.1).

    Args:
        num_layers: Blocks N.
        num_heads, intermediate_dim, dropout, attention_dropout, activation_dropout, activation,
            normalize_first, epsilon: Arguments of every `DecoderBlock`. Others that a `block_class` adds go to it too.
        skip_padding: Whether the blocks compute only the real steps of inputs and memory; see `Encoder`. No effect with
            a cache.
        remat: Whether the backward pass computes each block again; see `Encoder`. No effect with a cache.

    Call arguments:
        inputs: Float `[B, T, D]`.
        memory: Float `[B, S, D']`, the encoder's output; omitted with a cache, which holds its projections.
        inputs_mask, memory_mask: Boolean `[B, T]` and `[B, S]`, True at real steps; default to the masks that
            the tensors carry (`mask` is another name of `inputs_mask`). The outputs carry `mask` or the one
            that `inputs` carries.
        attention_mask: Mask of self-attention besides padding; see `DecoderBlock`.
        use_causal_mask: Whether step t sees target steps up to t only.
        return_attention_scores, cache, cache_index, training: As for `Encoder`.

    Returns:
        As from `Encoder`, with the weights and caches of `DecoderBlock`.

    Raises:
        ValueError: See `DecoderBlock`.
    """

    block_class = DecoderBlock

    def build(self, inputs_shape, memory_shape=None):
        super().build(inputs_shape, memory_shape=memory_shape)

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
        training=None,
    ):
        check_dense(memory)
        memory_mask, memory_packing = masks.attached_mask(memory, memory_mask), None
        if cache is None:
            memory_packing = self._packing(memory, memory_mask)
            memory = memory if memory_packing is None else memory_packing.pack(memory)
        return self._run(
            inputs,
            mask,
            inputs_mask,
            cache,
            return_attention_scores,
            training,
            memory=memory,
            memory_mask=memory_mask,
            memory_packing=memory_packing,
            attention_mask=attention_mask,
            use_causal_mask=use_causal_mask,
            cache_index=cache_index,
        )

    def init_cache(self, memory, length: int | None, num_beams: int = 1) -> tuple[BlockCache, ...]:
        """Returns one cache per block; see `DecoderBlock.init_cache`."""
        return tuple(block.init_cache(memory, length, num_beams) for block in self.blocks)
