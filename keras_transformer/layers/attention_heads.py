"""Base class of attention layers: scores, weights, and the methods that variants override."""

import keras
from keras import ops

from keras_transformer.ops import masks
from keras_transformer.ops.attention import attend, attention_scores, merge_heads
from keras_transformer.ops.blockwise import LONG, blockwise_attention
from keras_transformer.ops.local import block_steps, local_attention
from keras_transformer.ops.sizes import reshape, size, sizes, transpose


class AttentionHeads(keras.layers.Layer):
    """Base class of MultiHeadAttention: scaled dot products, and the methods with which a subclass changes them.

    `_place` applies positions to queries and keys (rotary), `_bias` adds a function of positions to scores (ALiBi),
    `_scores` computes any other score, if need be with weights of its own (additive attention, relative positions).
    """

    flash_attention = None

    def _place(self, heads, positions):
        """Returns queries or keys `[B, N, T, H]` of steps at int32 positions `[T]`, as the scores use them."""
        return heads

    def _bias(self, query_positions, key_positions):
        """Returns a constant to add to scores, `[B, N, T, S]` or broadcastable to it; it gets no gradient."""
        return None

    def _scores(self, query, key, query_positions, key_positions):
        """Computes scores `[B, N, T, S]`, at least float32, of queries `[B, N, T, H]` and keys `[B * N, S, H]`.

        An override may use weights. All scores are then computed at once, not in blocks.
        """
        return attention_scores(query, key)

    def _attend(self, query, keys, values, seen, training, return_scores):
        """Returns heads `[B, N, T, H']`, the weights or None, and which queries see any key."""
        dropping = self.dropout and training
        local = self._is_local(query.shape[2], seen, return_scores)
        in_blocks = self._in_blocks(query.shape[2], keys.shape[-2], return_scores or dropping)
        if local or in_blocks or type(self)._scores is not AttentionHeads._scores:
            keys, values = merge_heads(keys), merge_heads(values)
        if local:
            heads, visible = local_attention(query, keys, values, seen, self.dropout_layer if dropping else None)
            return heads, None, visible
        if in_blocks:
            bias = None if type(self)._bias is AttentionHeads._bias else self._bias
            heads, visible = blockwise_attention(query, keys, values, seen, bias)
            return heads, None, visible
        scores = self._scores(query, keys, seen.query_positions, seen.key_positions)
        bias, mask = self._bias(seen.query_positions, seen.key_positions), seen.rows()
        if bias is not None:
            scores = scores + ops.cast(bias, scores.dtype)
        dropout = self.dropout_layer if dropping else None
        heads, weights = attend(scores, values, mask, dropout, seen.every_query_sees)
        return heads, weights, None if seen.every_query_sees else masks.visible_rows(mask)

    def _is_local(self, steps, seen, weights_needed):
        """Returns whether a window leaves out much of a self-attention, or may do so if its length is unknown."""
        if seen.window is None or not seen.to_itself or weights_needed or self.flash_attention is False:
            return False
        if (type(self)._scores, type(self)._bias) != (AttentionHeads._scores, AttentionHeads._bias):
            return False
        same_for_all = seen.mask is None or seen.mask.shape[2] == 1
        return same_for_all and not (isinstance(steps, int) and steps <= 4 * block_steps(seen.window))

    def _in_blocks(self, steps, key_steps, weights_needed):
        wanted = self.flash_attention
        if wanted is None:
            wanted = keras.config.is_flash_attention_enabled()
        if weights_needed or type(self)._scores is not AttentionHeads._scores or wanted is False:
            return False
        long = isinstance(steps, int) and isinstance(key_steps, int) and steps * key_steps >= LONG
        return bool(wanted) or long

    def _heads(self, dense, inputs, packing):
        """Projects `[B, T, *]` to heads `[B, N, T, H]`."""
        rows, steps = sizes(inputs)[:2] if packing is None else packing.shape
        projected = dense(inputs) if packing is None else packing.unpack(dense(inputs))
        heads = reshape(projected, (rows, steps, self.num_heads, dense.units // self.num_heads))
        return transpose(heads, (0, 2, 1, 3))

    def _keys_and_values(self, value, key=None, packing=None, positions=None):
        """Projects `[B, S, *]` to keys and values `[B, N, S, H]`."""
        keys = self._heads(self.key_dense, value if key is None else key, packing)
        positions = masks.key_positions(size(keys, 2)) if positions is None else positions
        return self._place(keys, positions), self._heads(self.value_dense, value, packing)

    def _project_out(self, heads, query, visible, packing):
        """Merges heads `[B, N, T, H]` and projects them to outputs `[B, T, *]`, zero where no key is visible."""
        rows, _, steps = sizes(heads)[:3]
        heads = reshape(transpose(heads, (0, 2, 1, 3)), (rows, steps, self.num_heads * self.value_dim))
        heads = heads if packing is None else packing.pack(heads)
        outputs = self.output_dense(heads * self.gate_dense(query) if self.use_gate else heads)
        if visible is not None and self.use_bias:
            # Queries that see no key in any head give zeros, not the bias of the output projection.
            visible = masks.seen_by_any_head(visible)
            if packing is not None:
                visible = packing.pack(ops.cast(ops.broadcast_to(visible, (rows, steps, 1)), outputs.dtype)) > 0
            outputs = ops.where(visible, outputs, ops.zeros((), outputs.dtype))
        return outputs

    def _mask(self, query_heads, keys, value_mask, key_mask, attention_mask):
        """Merges the masks of all arguments to one `[B, N, T, S]`; None if there is none."""
        (batch, _, steps, _), key_steps = query_heads.shape, keys.shape[-2]
        masks.check_mask("value_mask", value_mask, (batch, key_steps))
        masks.check_mask("key_mask", key_mask, (batch, key_steps))
        padding = masks.merge(value_mask, key_mask)
        padding = None if padding is None else masks.for_all_queries(padding)
        if attention_mask is not None:
            attention_mask = masks.attention_mask(attention_mask, (batch, self.num_heads, steps, key_steps))
        return masks.merge(padding, attention_mask)

    def _check_flash(self, return_scores):
        """Raises `ValueError` if flash attention cannot do what is requested."""
        if self.flash_attention and return_scores:
            raise ValueError(
                "Flash attention has no attention weights to return. "
                "Received: flash_attention=True, return_attention_scores=True. Leave out one of them."
            )
        if self.flash_attention and type(self)._scores is not AttentionHeads._scores:
            raise ValueError(
                "Flash attention cannot use other scores than dot products. "
                f"Received: flash_attention=True in {type(self).__name__}, which overrides `_scores`. Leave it out."
            )
