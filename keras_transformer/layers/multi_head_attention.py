"""Multi-head attention, a drop-in for `keras.layers.MultiHeadAttention` that keeps the masks of its inputs."""

import math

import keras
from keras import ops

from keras_transformer.layers.attention_heads import AttentionHeads
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.keras_attention import copy_weights, keras_config
from keras_transformer.layers.output_spec import output_spec
from keras_transformer.layers.projection import ProjectionOptions
from keras_transformer.ops import masks
from keras_transformer.ops.arguments import check_positive_integers
from keras_transformer.ops.attention import merge_heads
from keras_transformer.ops.axes import AttentionAxes
from keras_transformer.ops.cache import KVCache, check_writing, count_beams, fold_beams, unfold_beams, write
from keras_transformer.ops.sizes import product, reshape, size, sizes
from keras_transformer.ops.visibility import Visibility


@keras.saving.register_keras_serializable("keras_transformer")
class MultiHeadAttention(AttentionHeads):
    """Computes attention in N heads (Vaswani et al. 2017, section 3.2.2).

        MultiHead(Q, K, V) = Concat(head_1, ..., head_N) W_O,  head_n = Attention(Q W_Q, K W_K, V W_V)

    Axes: B batch, T query steps, S key steps, N heads, H width of a head, D width of the query. Arguments and outputs
    are those of Keras's layer, except for queries that see no key. Projections are plain `Dense` layers: their initial
    weights have the fans of a `[D, N * H]` matrix, and constraints apply to such matrices.

    A subclass changes the scores by overriding one of the methods of `AttentionHeads`.

    Args:
        num_heads: Heads N.
        key_dim: Width H of a head's queries and keys.
        value_dim: Width of a head's values; defaults to `key_dim`.
        dropout: Rate on the attention weights.
        use_bias: Whether the projections have biases.
        output_shape: Width of the output, or several sizes; defaults to the query's width.
        attention_axes: Axes that attention runs over, for inputs `[B, ..., D]` with several axes of steps; all by
            default. The others count as rows.
        sliding_window: If given, queries see keys less than this many steps away only. Self-attention then takes time
            and memory in proportion to the steps, where the mask is the same for all queries; see `ops/local.py`.
        flash_attention: True computes scores in blocks, without memory for all of them, on any backend and device;
            False never does. By default, unless `keras.config.enable_flash_attention` decides, blocks are used for long
            inputs (T * S of 2,048 squared or more) if no weights are returned or dropped.
        kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
            kernel_constraint, bias_constraint: Options of all projections.
        use_gate: Whether a projection of the query, through a sigmoid, scales the heads before W_O (Qiu et al. 2025).
        seed: Seed of the dropout.

    Call arguments:
        query: Float `[B, T, D]`.
        value: Float `[B, S, *]`. May be omitted only with a cache, which is then read and not written.
        key: Float `[B, S, *]`; defaults to `value`.
        query_mask: Boolean `[B, T]`; carried by the output. Padding hides keys, not queries.
        value_mask, key_mask: Boolean `[B, S]`, True at real steps; default to the masks that the tensors carry.
            When a cache is read, they describe its steps; when one is written, they are unused, since Keras fills
            them with masks of the new steps alone: hide written steps by `attention_mask`.
        attention_mask: `[T, S]`, `[B, T, S]` or `[B, N, T, S]`, True (or 1) where a query may see a key; a size of 1
            broadcasts.
        return_attention_scores: Whether to return the weights as well.
        use_causal_mask: Whether step t sees keys up to t only.
        cache: `KVCache`. With `value`, the projected steps are written to it at `cache_index` and attention
            runs over all of it, causally; without, attention reads it as it is (a memory projected once by
            `project`). The query may have K times the cache's rows, for the K beams of a sentence. Their steps count
            as K * T steps of one query, and K beams that write need an `attention_mask` `[B, K * T, S]` that
            separates them; see `keras_transformer.ops.ancestry`.
        cache_index: Integer scalar, the number of steps already written; required to write.
        num_beams: K, if it is known; otherwise the sizes tell.
        packing, value_packing: `Packing` of the query and of the value (and key) if they are packed, `[1, M, *]`: only
            their real steps are projected. Masks have the unpacked shapes; the output is packed if the query is.

    Returns:
        Float `[B, T, output_shape]`; with `return_attention_scores` also the softmax weights before dropout,
        float32 `[B, N, T, S]`, float64 in a float64 layer; with a cache that is written also the new cache, last. A
        query that sees no key has zeros as output and passes back no gradient.

    Raises:
        ValueError: If sizes are not positive, a width is unknown, `value` or `cache_index` is missing, a mask has the
            wrong shape or type, beams write without one, or weights are to be dropped or returned by flash attention.
    """

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        value_dim: int | None = None,
        dropout: float = 0.0,
        use_bias: bool = True,
        output_shape: int | tuple[int, ...] | None = None,
        attention_axes: int | tuple[int, ...] | None = None,
        sliding_window: int | None = None,
        flash_attention: bool | None = None,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        kernel_regularizer=None,
        bias_regularizer=None,
        activity_regularizer=None,
        kernel_constraint=None,
        bias_constraint=None,
        use_gate: bool = False,
        seed: int | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        optional = {"value_dim": value_dim, "sliding_window": sliding_window}
        given = {name: value for name, value in optional.items() if value is not None}
        check_positive_integers(num_heads=num_heads, key_dim=key_dim, **given)
        if flash_attention and dropout:
            raise ValueError(
                "Flash attention cannot drop attention weights. "
                f"Received: flash_attention={flash_attention}, dropout={dropout}. Leave out one of them."
            )
        self.num_heads = num_heads
        self.key_dim = key_dim
        self.value_dim = value_dim or key_dim
        self.dropout = dropout
        self.use_bias = use_bias
        self.attention_axes = (attention_axes,) if isinstance(attention_axes, int) else attention_axes
        self.sliding_window = sliding_window
        self.flash_attention = flash_attention
        self.use_gate = use_gate
        self.seed = seed
        self._output_sizes = (output_shape,) if isinstance(output_shape, int) else tuple(output_shape or ())
        self._options = ProjectionOptions(
            use_bias,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
        )
        self.supports_masking = True
        self.query_dense = self._dense(num_heads * key_dim, "query_dense")
        self.key_dense = self._dense(num_heads * key_dim, "key_dense")
        if use_gate:
            self.gate_dense = self._dense(num_heads * self.value_dim, "gate_dense", activation="sigmoid")
        self.value_dense = self._dense(num_heads * self.value_dim, "value_dense")
        self.dropout_layer = Dropout(dropout, seed=seed, dtype=self.dtype_policy, name="attention_dropout")

    def build(self, query_shape, value_shape=None, key_shape=None):
        value_shape = value_shape or query_shape
        key_shape = key_shape or value_shape
        for name, shape in (("query", query_shape), ("value", value_shape), ("key", key_shape)):
            if len(shape) < 3 or len(shape) != len(query_shape) or shape[-1] is None:
                raise ValueError(
                    f"`{name}` must have shape [batch, steps, width], or more axes of steps, with a known width. "
                    f"Received: {name}_shape={tuple(shape)}. Reshape or project it first."
                )
        self._axes = AttentionAxes(self.attention_axes, len(query_shape))
        self.output_dense = self._dense(
            math.prod(self._output_sizes) if self._output_sizes else query_shape[-1], "output_dense"
        )
        self.query_dense.build(query_shape)
        self.key_dense.build(key_shape)
        if self.use_gate:
            self.gate_dense.build(query_shape)
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
        num_beams=None,
        packing=None,
        value_packing=None,
    ):
        self._check_call(query, value, attention_mask, return_attention_scores, cache, cache_index, packing)
        writes = cache is not None and value is not None
        if cache is None:
            value_mask = masks.attached_mask(value, value_mask)
            key_mask = masks.attached_mask(key, key_mask)
        elif writes:
            value_mask = key_mask = None
        inputs = query, value
        if not self._axes.plain:
            attention_mask = self._axes.fold_mask(attention_mask, query, value, self.num_heads)
            query, value, key, value_mask, key_mask = map(self._axes.fold, (query, value, key, value_mask, key_mask))
        rows, steps, beams = size(query, 0), size(query, 1), 1
        if cache is not None:
            if num_beams is None:
                num_beams = count_beams(query, cache, self.num_heads, attention_mask, writes)
            query, value, key = (fold_beams(x, num_beams) for x in (query, value, key))
            beams = num_beams if writes else 1
        query_heads = self._heads(self.query_dense, query, packing)
        positions = masks.query_positions(size(query_heads, 2), 0 if cache_index is None else cache_index, beams)
        query_heads = self._place(query_heads, positions)
        if value is None:
            keys, values = cache
        elif cache is None and keras.backend.backend() == "jax":
            # XLA can divide heads among devices while they have an axis of their own.
            keys, values = self._keys_and_values(value, key, value_packing)
        else:
            keys, values = self.project(value, key, value_packing, positions if writes else None)
        if writes:
            keys, values = cache = write(cache, keys, values, product(cache_index, beams))
        mask = self._mask(query_heads, keys, value_mask, key_mask, attention_mask)
        key_positions = masks.key_positions(size(keys, -2), beams)
        to_itself = cache is None and inputs[0] is inputs[1]
        seen = Visibility(mask, positions, key_positions, use_causal_mask or writes, self.sliding_window, to_itself)
        heads, weights, visible = self._attend(query_heads, keys, values, seen, training, return_attention_scores)
        outputs = self._project_out(heads, query, visible, packing)
        if cache is not None and not (isinstance(num_beams, int) and num_beams == 1):
            outputs = reshape(outputs, (rows, steps, outputs.shape[-1]))
            weights = unfold_beams(weights, rows, steps) if return_attention_scores else None
        if not self._axes.plain:
            outputs = self._axes.unfold(outputs, inputs[0])
            weights = self._axes.unfold_scores(weights, *inputs) if return_attention_scores else None
        if len(self._output_sizes) > 1:
            outputs = ops.reshape(outputs, (*sizes(outputs)[:-1], *self._output_sizes))
        returned = (outputs,) + ((weights,) if return_attention_scores else ()) + ((cache,) if writes else ())
        return returned if len(returned) > 1 else outputs

    def project(self, value, key=None, packing=None, positions=None) -> KVCache:
        """Projects `[B, S, *]` to a cache of keys and values, such as a memory once per sentence.

        `positions`, int32 `[S]`, are those of the steps; 0 to S - 1 by default.
        """
        return KVCache(*map(merge_heads, self._keys_and_values(value, key, packing, positions)))

    def init_cache(self, batch_size: int, length: int) -> KVCache:
        """Returns a cache of zeros for self-attention over at most `length` steps."""
        shape = (batch_size * self.num_heads, length)
        return KVCache(
            ops.zeros((*shape, self.key_dim), self.compute_dtype),
            ops.zeros((*shape, self.value_dim), self.compute_dtype),
        )

    def compute_mask(self, query, previous_mask=None):
        return previous_mask

    def compute_output_shape(self, query_shape, value_shape=None, key_shape=None):
        return (*query_shape[:-1], *(self._output_sizes or query_shape[-1:]))

    def compute_output_spec(self, *args, **kwargs):
        return output_spec(self, args, kwargs)

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "key_dim": self.key_dim,
            "value_dim": self.value_dim,
            "dropout": self.dropout,
            "output_shape": self._output_sizes[0] if len(self._output_sizes) == 1 else self._output_sizes or None,
            "attention_axes": self.attention_axes,
            "sliding_window": self.sliding_window,
            "flash_attention": self.flash_attention,
            **self._options.get_config(),
            "use_gate": self.use_gate,
            "seed": self.seed,
        }

    @classmethod
    def from_keras(cls, layer: keras.layers.MultiHeadAttention) -> "MultiHeadAttention":
        """Converts `keras.layers.MultiHeadAttention`, with its weights if it is built.

        Outputs are the same, except for queries that see no key, which give zeros here.
        """
        return copy_weights(layer, cls.from_config(layer.get_config()))

    def to_keras(self) -> keras.layers.MultiHeadAttention:
        """Converts to `keras.layers.MultiHeadAttention`, with the weights if this layer is built."""
        config = keras_config(self.get_config())
        return copy_weights(self, keras.layers.MultiHeadAttention.from_config(config))

    def _check_call(self, query, value, attention_mask, return_scores, cache, cache_index, packing):
        if value is None and cache is None:
            raise ValueError(
                "`value` is required unless a `cache` is read. Received: value=None, cache=None. "
                "For self-attention call `layer(x, x)`."
            )
        self._check_flash(return_scores)
        if not self._axes.plain and not (cache is None and packing is None):
            raise ValueError(
                "Caches and packed inputs need inputs [batch, steps, width]. "
                f"Received: query.shape={tuple(query.shape)}. Reshape them to one axis of steps."
            )
        if cache is not None and value is not None:
            check_writing(cache, cache_index, query, self.num_heads, attention_mask)

    def _dense(self, units, name, **keywords):
        return self._options.dense(units, name, self.dtype_policy, **keywords)
