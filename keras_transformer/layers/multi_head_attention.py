"""Multi-head attention, a drop-in for `keras.layers.MultiHeadAttention` that leaves its callers' masks alone."""

import keras
from keras import ops

from keras_transformer.layers.dense import Dense
from keras_transformer.layers.dropout import Dropout
from keras_transformer.ops import masks
from keras_transformer.ops.attention import dot_product_attention
from keras_transformer.ops.cache import KVCache, write


@keras.saving.register_keras_serializable("keras_transformer")
class MultiHeadAttention(keras.layers.Layer):
    """Attention in N heads (Vaswani et al. 2017, section 3.2.2).

        MultiHead(Q, K, V) = Concat(head_1, ..., head_N) W_O,  head_n = Attention(Q W_Q, K W_K, V W_V)

    Axes: B batch, T query steps, S key steps, N heads, H width of a head, D width of the query. Projections
    have biases as in Keras and fairseq (tensor2tensor has none) and are plain `Dense` layers: their initial
    weights get the fans of a `[D, N * H]` matrix.

    Args:
        num_heads: Heads N.
        key_dim: Width H of a head's queries and keys.
        value_dim: Width of a head's values; defaults to `key_dim`.
        dropout: Rate on the attention weights.
        use_bias: Whether the projections have biases.
        output_shape: Width of the output; defaults to the query's.
        kernel_initializer, bias_initializer: Of the four projections.
        seed: Seed of the dropout.

    Call arguments:
        query: Float `[B, T, D]`.
        value: Float `[B, S, *]`. May be left out only with a cache, which is then read and not written.
        key: Float `[B, S, *]`; defaults to `value`.
        query_mask: Boolean `[B, T]`; passed on with the output. Padding hides keys, not queries.
        value_mask, key_mask: Boolean `[B, S]`, True at real steps; default to the masks that the tensors carry.
            Reading a cache, they describe its steps; writing one, they are unused, since Keras fills them with
            masks of the new steps alone: hide written steps by `attention_mask`.
        attention_mask: Boolean `[B, T, S]`, True where a query may see a key; a size of 1 broadcasts.
        return_attention_scores: Whether to return the weights as well.
        use_causal_mask: Whether step t sees keys up to t only.
        cache: `KVCache`. With `value`, the projected steps are written to it at `cache_index` and attention
            runs over all of it, causally; without, attention reads it as it is (a memory projected once by
            `project`). The query may have K times the cache's rows, for the K beams of a sentence. Their steps count
            as K * T steps of one query, and K beams that write need an `attention_mask` `[B, K * T, S]` which tells
            them apart; see `keras_transformer.ops.ancestry`.
        cache_index: Integer scalar, the number of steps already written; required to write.
        packing, value_packing: `Packing` of the query and of the value (and key) if they come packed, `[1, M, *]`: only
            their real steps are projected. Masks have the shapes of what is not packed; the output is packed as the
            query is.

    Returns:
        Float `[B, T, output_shape]`; with `return_attention_scores` also the softmax weights before dropout,
        float32 `[B, N, T, S]`; with a cache that is written also the new cache, last. A query that may see
        no key gives zeros and sends back no gradient.

    Raises:
        ValueError: If sizes are not positive, a width is unknown, `value` or `cache_index` is missing, a mask has the
            wrong shape or type, or beams write without one.
    """

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        value_dim: int | None = None,
        dropout: float = 0.0,
        use_bias: bool = True,
        output_shape: int | None = None,
        *,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        seed: int | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        for name, size in (("num_heads", num_heads), ("key_dim", key_dim), ("value_dim", value_dim)):
            if size is not None and (not isinstance(size, int) or size < 1):
                raise ValueError(f"`{name}` must be a positive integer. Received: {name}={size!r}.")
        self.num_heads = num_heads
        self.key_dim = key_dim
        self.value_dim = value_dim or key_dim
        self.dropout = dropout
        self.use_bias = use_bias
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.seed = seed
        self._output_dim = output_shape
        self.supports_masking = True
        self.query_dense = self._dense(num_heads * key_dim, "query_dense")
        self.key_dense = self._dense(num_heads * key_dim, "key_dense")
        self.value_dense = self._dense(num_heads * self.value_dim, "value_dense")
        self.dropout_layer = Dropout(dropout, seed=seed, dtype=self.dtype_policy, name="attention_dropout")

    def build(self, query_shape, value_shape=None, key_shape=None):
        value_shape = value_shape or query_shape
        key_shape = key_shape or value_shape
        for name, shape in (("query", query_shape), ("value", value_shape), ("key", key_shape)):
            if len(shape) != 3 or shape[-1] is None:
                raise ValueError(
                    f"`{name}` must have shape [batch, steps, width] with a known width. "
                    f"Received: {name}_shape={tuple(shape)}. Reshape or project it first."
                )
        self.output_dense = self._dense(self._output_dim or query_shape[-1], "output_dense")
        self.query_dense.build(query_shape)
        self.key_dense.build(key_shape)
        self.value_dense.build(value_shape)
        self.output_dense.build((*query_shape[:-1], self.num_heads * self.value_dim))

    def call(
        self,
        query,
        value=None,
        key=None,
        query_mask=None,
        value_mask=None,
        key_mask=None,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
        use_causal_mask=False,
        cache=None,
        cache_index=None,
        packing=None,
        value_packing=None,
    ):
        if value is None and cache is None:
            raise ValueError(
                "`value` is required unless a `cache` is read. Received: value=None, cache=None. "
                "For self-attention call `layer(x, x)`."
            )
        if cache is None:
            value_mask = masks.attached_mask(value, value_mask)
            key_mask = masks.attached_mask(key, key_mask)
        elif value is not None:
            if cache_index is None:
                raise ValueError(
                    "`cache_index` is required to write a `cache`. Received: cache_index=None. "
                    "Pass the number of steps already written, or leave out `value` to read the cache."
                )
            cached = None if cache.key.shape[0] is None else cache.key.shape[0] // self.num_heads
            if attention_mask is None and {query.shape[0], cached} - {None, query.shape[0]}:
                raise ValueError(
                    "Beams that write a `cache` of their sentence need an `attention_mask` that tells them apart. "
                    f"Received: attention_mask=None, query.shape={tuple(query.shape)}, a cache of "
                    f"{cached} rows. See `keras_transformer.ops.ancestry.visible_slots`."
                )
            value_mask = key_mask = None
        (rows, steps), beams = ops.shape(query)[:2], 1
        if cache is not None:
            query, value, key = (self._fold_beams(x, cache) for x in (query, value, key))
        query_heads = self._heads(self.query_dense, query, packing)
        keys, values = cache if value is None else self.project(value, key, value_packing)
        if cache is not None and value is not None:
            beams, use_causal_mask = ops.shape(query)[1] // steps, True
            keys, values = cache = write(cache, keys, values, cache_index * beams)
        mask = self._mask(query_heads, keys, value_mask, key_mask, attention_mask)
        if use_causal_mask:
            sizes = ops.shape(query_heads)[2], ops.shape(keys)[1]
            mask = masks.merge(mask, masks.causal_mask(*sizes, 0 if cache_index is None else cache_index, beams))
        dropout = self.dropout_layer if self.dropout else None
        heads, weights = dot_product_attention(query_heads, keys, values, mask, dropout)
        outputs = self._project_out(heads, mask, packing)
        if cache is None:
            return (outputs, weights) if return_attention_scores else outputs
        returned = (ops.reshape(outputs, (rows, steps, outputs.shape[-1])),)
        if return_attention_scores:
            returned += (self._unfold_beams(weights, rows, steps),)
        if value is not None:
            returned += (cache,)
        return returned if len(returned) > 1 else returned[0]

    def project(self, value, key=None, packing=None) -> KVCache:
        """Keys and values of `[B, S, *]` as a cache: how a memory is projected once per sentence."""
        key = value if key is None else key
        heads = self._heads(self.key_dense, key, packing), self._heads(self.value_dense, value, packing)
        return KVCache(*(ops.reshape(x, (ops.shape(x)[0] * self.num_heads, *ops.shape(x)[2:])) for x in heads))

    def init_cache(self, batch_size: int, length: int) -> KVCache:
        """A cache of zeros for self-attention over at most `length` steps."""
        shape = (batch_size * self.num_heads, length)
        return KVCache(
            ops.zeros((*shape, self.key_dim), self.compute_dtype),
            ops.zeros((*shape, self.value_dim), self.compute_dtype),
        )

    def compute_mask(self, query, previous_mask=None):
        return previous_mask

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "key_dim": self.key_dim,
            "value_dim": self.value_dim,
            "dropout": self.dropout,
            "use_bias": self.use_bias,
            "output_shape": self._output_dim,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "seed": self.seed,
        }

    def _dense(self, units, name):
        return Dense(
            units,
            use_bias=self.use_bias,
            kernel_initializer=self.kernel_initializer.clone(),
            bias_initializer=self.bias_initializer.clone(),
            dtype=self.dtype_policy,
            name=name,
        )

    def _heads(self, dense, inputs, packing):
        """Projects `[B, T, *]` to heads `[B, N, T, H]`."""
        rows, steps = ops.shape(inputs)[:2] if packing is None else packing.shape
        projected = dense(inputs) if packing is None else packing.unpack(dense(inputs))
        heads = ops.reshape(projected, (rows, steps, self.num_heads, dense.units // self.num_heads))
        return ops.transpose(heads, (0, 2, 1, 3))

    def _mask(self, query_heads, keys, value_mask, key_mask, attention_mask):
        (batch, _, steps, _), key_steps = query_heads.shape, keys.shape[1]
        masks.check_mask("value_mask", value_mask, (batch, key_steps))
        masks.check_mask("key_mask", key_mask, (batch, key_steps))
        masks.check_mask("attention_mask", attention_mask, (batch, steps, key_steps))
        padding = masks.merge(value_mask, key_mask)
        return masks.merge(None if padding is None else ops.expand_dims(padding, 1), attention_mask)

    def _fold_beams(self, x, cache):
        """Makes the K beams of a sentence steps of one row, `[B * K, T, D]` to `[B, K * T, D]`: they share a cache."""
        return None if x is None else ops.reshape(x, (ops.shape(cache.key)[0] // self.num_heads, -1, x.shape[-1]))

    def _unfold_beams(self, weights, rows, steps):
        """Weights `[B, N, K * T, S]` to `[B * K, N, T, S]`."""
        batch, heads, _, key_steps = ops.shape(weights)
        weights = ops.reshape(weights, (batch, heads, -1, steps, key_steps))
        return ops.reshape(ops.transpose(weights, (0, 2, 1, 3, 4)), (rows, heads, steps, key_steps))

    def _project_out(self, heads, mask, packing):
        rows, _, steps = ops.shape(heads)[:3]
        heads = ops.reshape(ops.transpose(heads, (0, 2, 1, 3)), (rows, steps, self.num_heads * self.value_dim))
        outputs = self.output_dense(heads if packing is None else packing.pack(heads))
        if mask is not None and self.use_bias:
            # Nothing seen, nothing said: without this the bias would speak.
            visible = masks.visible_rows(mask)
            if packing is not None:
                visible = packing.pack(ops.cast(ops.broadcast_to(visible, (rows, steps, 1)), outputs.dtype)) > 0
            outputs = ops.where(visible, outputs, ops.zeros((), outputs.dtype))
        return outputs
