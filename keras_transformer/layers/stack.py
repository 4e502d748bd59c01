"""Base class of encoder and decoder stacks."""

import keras

from keras_transformer.layers.block import join_outputs
from keras_transformer.layers.normalization import make_normalization, normalize
from keras_transformer.layers.output_spec import output_spec
from keras_transformer.ops import masks
from keras_transformer.ops.arguments import check_positive_integers
from keras_transformer.ops.packing import Packing
from keras_transformer.ops.rematerialisation import rematerialized_call
from keras_transformer.ops.sizes import keep_sizes
from keras_transformer.ops.values import check_dense

_LAYER_ARGUMENTS = ("name", "dtype", "trainable", "autocast")


class TransformerStack(keras.layers.Layer):
    """Base class of Encoder and Decoder, which set `block_class`: N blocks and, in pre-norm, a final normalisation.

    Further arguments go to every block, so that a `block_class` may have arguments of its own besides these.
    """

    block_class = None

    def __init__(
        self,
        num_layers: int,
        num_heads: int,
        intermediate_dim: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        activation_dropout: float = 0.0,
        activation="relu",
        normalize_first: bool = False,
        epsilon: float = 1e-6,
        *,
        skip_padding: bool = False,
        remat: bool = False,
        **kwargs,
    ):
        super().__init__(**{name: kwargs.pop(name) for name in _LAYER_ARGUMENTS if name in kwargs})
        check_positive_integers(num_layers=num_layers)
        if skip_padding and keras.backend.backend() != "tensorflow":
            raise ValueError(
                "`skip_padding` needs shapes that are known at run time only, as TensorFlow has. "
                f"Received: skip_padding={skip_padding} on {keras.backend.backend()}. Sort batches by length instead."
            )
        self.num_layers = num_layers
        self.skip_padding = skip_padding
        self.remat = remat
        self.supports_jit = not skip_padding  # Keras then trains without XLA, with a warning if `jit_compile` is set.
        self.supports_masking = True
        first = self.block_class(
            num_heads=num_heads,
            intermediate_dim=intermediate_dim,
            dropout=dropout,
            attention_dropout=attention_dropout,
            activation_dropout=activation_dropout,
            activation=activation,
            normalize_first=normalize_first,
            epsilon=epsilon,
            **kwargs,
            dtype=self.dtype_policy,
            name="block_0",
        )
        own = super().get_config()
        self._block_config = {name: value for name, value in first.get_config().items() if name not in own}
        self.blocks = [first] + [
            self.block_class.from_config({**self._block_config, "dtype": self.dtype_policy, "name": f"block_{i}"})
            for i in range(1, num_layers)
        ]
        self.norm = None
        if first.normalize_first:
            normalization = first.residual_class.normalization_class
            self.norm = make_normalization(normalization, first.epsilon, self.dtype_policy)

    def build(self, inputs_shape, **memory_shape):
        for block in self.blocks:
            block.build(inputs_shape, **memory_shape)
        if self.norm is not None:
            self.norm.build(inputs_shape)

    def compute_mask(self, inputs, previous_mask=None):
        return previous_mask

    def get_config(self):
        own = {"num_layers": self.num_layers, "skip_padding": self.skip_padding, "remat": self.remat}
        return {**super().get_config(), **own, **self._block_config}

    def compute_output_shape(self, inputs_shape, memory_shape=None):
        return inputs_shape

    def compute_output_spec(self, *args, **kwargs):
        return output_spec(self, args, kwargs)

    def _run(self, inputs, mask, inputs_mask, cache, return_attention_scores, training, **block_arguments):
        """Applies all blocks; returns the outputs, with the scores and new caches of all blocks if there are any."""
        check_dense(inputs)
        mask = masks.attached_mask(inputs, mask, inputs_mask)
        packing = self._packing(inputs, mask) if cache is None else None
        twice = self.remat and training and cache is None and not return_attention_scores
        # A cache of a memory alone has no past, to which the steps would be written.
        writes = cache is not None and getattr(cache[0], "self_attention", cache[0]) is not None
        if writes:
            cache = tuple(keras.tree.map_structure(keep_sizes, each, cache[0]) for each in cache)
        x, scores, caches = inputs if packing is None else packing.pack(inputs), [], []
        for i, block in enumerate(self.blocks):
            where = {"cache": None if cache is None else cache[i]}
            where |= {} if writes else {"inputs_mask": mask, "packing": packing}
            arguments = {**where, **block_arguments, "return_attention_scores": return_attention_scores}
            x = rematerialized_call(block, x, **arguments) if twice else block(x, **arguments)
            x, *others = x if isinstance(x, tuple) else (x,)
            if return_attention_scores:
                scores.append(others.pop(0))
            caches.extend(others)
        if self.norm is not None:
            x = normalize(self.norm, x, mask if packing is None and not writes else None)
        if packing is not None:
            x = packing.unpack(x)
        return join_outputs(x, tuple(scores) or None, tuple(caches) or None)

    def _packing(self, x, mask):
        """Returns the `Packing` of x `[B, T, D]` if the stack skips padding; a single row is assumed to have none."""
        return Packing(mask) if self.skip_padding and mask is not None and x.shape[0] != 1 else None
