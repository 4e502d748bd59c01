"""Token embedding, whose table also gives the logits."""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformer.ops.arguments import check_positive_integers
from keras_transformer.ops.quantization import check_mode, delete_attribute, is_quantized
from keras_transformer.ops.sizes import reshape, sizes
from keras_transformer.ops.values import check_token_ids


@keras.saving.register_keras_serializable("keras_transformer")
class TokenEmbedding(keras.layers.Layer):
    """Embeds tokens, and computes logits with the same table (Press & Wolf 2017; Vaswani et al. 2017, section 3.4).

        call(ids) = s E[ids],  logits(x) = x E^T,  s = sqrt(D) or 1

    Axes: B batch, T steps, V vocabulary, D width. Rows are looked up in float32 under any dtype policy: the gradient
    of a row is a sum over all its occurrences, most of which would be lost in bfloat16. Logits have the
    dtype of x. `quantize("int8")` keeps int8 rows with one float32 scale each, for use without further training.

    Args:
        vocabulary_size: Rows V.
        hidden_dim: Width D.
        mask_zero: Whether id 0 is padding; the output then carries a mask that is False there.
        embeddings_initializer: Initializer of the table; by default normal with standard deviation `D**-0.5`.
        scale: Whether rows are scaled by s = sqrt(D), as published in 2017; BERT's are not.

    Call arguments:
        inputs: Token ids, integers `[B, T]`; a `tf.RaggedTensor` gives a ragged tensor, which few layers accept: call
            its `to_tensor()` first. With `reverse`, vectors `[..., D]`, whose mask is kept.
        reverse: Whether to compute logits, as `logits` does; the name is that of `keras.layers.ReversibleEmbedding`.

    Returns:
        Float `[B, T, D]`; with `reverse`, logits `[..., V]`.

    Raises:
        ValueError: If a size is not positive, or an eager call gets an id outside of `[0, V)`. A TensorFlow graph fails
            with `InvalidArgumentError` then; compiled calls give NaN on JAX, and an unspecified row under XLA in
            TensorFlow. `keras_transformer.set_value_checks(False)` turns the checks off.
    """

    def __init__(
        self,
        vocabulary_size: int,
        hidden_dim: int,
        mask_zero: bool = True,
        embeddings_initializer=None,
        scale: bool = True,
        **kwargs,
    ):
        super().__init__(**{"autocast": False, **kwargs})  # Logits have the dtype of the vectors.
        check_positive_integers(vocabulary_size=vocabulary_size, hidden_dim=hidden_dim)
        self.vocabulary_size, self.hidden_dim, self.mask_zero = vocabulary_size, hidden_dim, mask_zero
        self.scale = scale
        if embeddings_initializer is None:
            embeddings_initializer = keras.initializers.RandomNormal(stddev=hidden_dim**-0.5)
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)

    def build(self, inputs_shape=None):
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.vocabulary_size, self.hidden_dim),
            initializer=self.embeddings_initializer,
            autocast=False,
        )
        self.embeddings_scale = None

    def __call__(self, inputs, *args, reverse=False, **kwargs):
        if reverse:
            kwargs["reverse"] = True
        elif "float" in str(getattr(inputs, "dtype", "")):  # As of a `keras.Input` without a dtype.
            inputs = ops.cast(inputs, "int32")
        return super().__call__(inputs, *args, **kwargs)

    def call(self, inputs, reverse=False):
        if reverse:
            return self._logits(inputs, self.output_kernel())
        token_ids = ops.cast(check_token_ids("token_ids", inputs, self.vocabulary_size), "int32")
        rows = ops.take(self.embeddings, token_ids, axis=0)
        if self.embeddings_scale is not None:
            rows = ops.cast(rows, "float32") * ops.take(self.embeddings_scale, token_ids, axis=0)[..., None]
        return ops.cast(rows * self.hidden_dim**0.5 if self.scale else rows, self.compute_dtype)

    def output_kernel(self) -> Any:
        """Returns the output matrix `[D, V]` in the compute dtype, which many decoding steps can share.

        It has the values that the table has now, so it has no place in a functional model.
        """
        table = self.embeddings
        if self.embeddings_scale is not None:
            table = ops.cast(table, "float32") * self.embeddings_scale[:, None]
        return ops.transpose(ops.cast(table, self.compute_dtype))

    def logits(self, x: Any, output_kernel: Any = None) -> Any:
        """Computes logits `[..., V]` from vectors `[..., D]`, in their dtype; also in a functional model.

        Raises:
            ValueError: If `output_kernel` is given in a functional model.
        """
        if isinstance(x, keras.KerasTensor):
            if output_kernel is not None:
                raise ValueError(
                    "In a functional model `output_kernel` would be a constant, the table as it is now. "
                    f"Received: output_kernel of shape {tuple(output_kernel.shape)}. Leave it out."
                )
            return self(x, reverse=True)
        return self._logits(x, self.output_kernel() if output_kernel is None else output_kernel)

    def _logits(self, x, kernel):
        flat = ops.matmul(ops.reshape(x, (-1, self.hidden_dim)), ops.cast(kernel, x.dtype))
        return reshape(flat, (*sizes(x)[:-1], self.vocabulary_size))

    def quantize(self, mode: str | None = None, type_check: bool = True, config: Any = None) -> None:
        """Replaces the table by int8 rows and their scales; called by `keras.Model.quantize`."""
        check_mode(self, mode)
        if self.embeddings_scale is not None:
            return
        table = ops.convert_to_numpy(self.embeddings).astype("float32")
        scale = np.maximum(np.abs(table).max(axis=1), 1e-12) / 127
        del self.embeddings
        fixed = {"initializer": "zeros", "trainable": False, "autocast": False}
        self.embeddings = self.add_weight(name="embeddings", shape=table.shape, dtype="int8", **fixed)
        self.embeddings_scale = self.add_weight(name="embeddings_scale", shape=scale.shape, dtype="float32", **fixed)
        self.embeddings.assign(np.round(table / scale[:, None]).astype("int8"))
        self.embeddings_scale.assign(scale)

    __delattr__ = delete_attribute

    def load_own_variables(self, store):
        if is_quantized(store):
            self.quantize("int8")
        super().load_own_variables(store)

    def compute_mask(self, inputs, previous_mask=None):
        if "float" in str(getattr(inputs, "dtype", "")):
            return previous_mask  # Of vectors, where the logits have the same steps.
        return ops.not_equal(inputs, 0) if self.mask_zero else None

    def compute_output_shape(self, inputs_shape, reverse=False):
        return (*inputs_shape[:-1], self.vocabulary_size) if reverse else (*inputs_shape, self.hidden_dim)

    def compute_output_spec(self, inputs, reverse=False):
        shape = self.compute_output_shape(inputs.shape, reverse)
        return keras.KerasTensor(shape, dtype=inputs.dtype if reverse else self.compute_dtype)

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "hidden_dim": self.hidden_dim,
            "mask_zero": self.mask_zero,
            "embeddings_initializer": keras.initializers.serialize(self.embeddings_initializer),
            "scale": self.scale,
        }
