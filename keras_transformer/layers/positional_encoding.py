"""Sinusoidal and learned positional encodings."""

import keras
from keras import ops

from keras_transformer.ops.arguments import check_positive_integers
from keras_transformer.ops.positions import sinusoidal_encoding
from keras_transformer.ops.precision import at_least_float32
from keras_transformer.ops.sizes import keep_sizes, sizes
from keras_transformer.ops.values import check_dense, check_positions


@keras.saving.register_keras_serializable("keras_transformer")
class PositionalEncoding(keras.layers.Layer):
    """Adds sinusoidal positions (Vaswani et al. 2017, section 3.5): `y[b, t] = x[b, t] + PE(start_index + t)`.

    Encoding and sum are computed in float32 at least, whatever the dtype policy, since bfloat16 cannot tell position
    256 from 257, and cast last. There is no table and no maximum length.

    Call arguments:
        inputs: Float `[B, T, D]`, D even; its mask is kept.
        start_index: Integer scalar, the position of the first step, such as the number of cached steps in decoding.
        positions: Integers `[T]` or `[B, T]`, the positions of the steps, instead of `start_index`.

    Returns:
        Float `[B, T, D]`.

    Raises:
        ValueError: If D is odd or unknown, or `inputs` is a ragged tensor.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, inputs_shape):
        self.built = True

    def call(self, inputs, start_index=0, positions=None):
        check_dense(inputs)
        if positions is None:
            positions = ops.arange(sizes(inputs)[1], dtype="int32") + ops.cast(start_index, "int32")
        encoding, outputs = self._encode(positions, inputs.shape[-1]), at_least_float32(inputs)
        return keep_sizes(ops.cast(outputs + ops.cast(encoding, outputs.dtype), inputs.dtype), inputs)

    def compute_mask(self, inputs, previous_mask=None):
        return previous_mask

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def _encode(self, positions, hidden_dim):
        return sinusoidal_encoding(positions, hidden_dim)


@keras.saving.register_keras_serializable("keras_transformer")
class LearnedPositionalEncoding(PositionalEncoding):
    """Adds learned positions: `y[b, t] = x[b, t] + W[start_index + t]` (Gehring et al. 2017; BERT).

    Args:
        max_length: Number of positions in the table.
        embeddings_initializer: Initializer of the table.

    Call arguments:
        inputs: Float `[B, T, D]` with T at most `max_length`; its mask is kept.
        start_index, positions: As for `PositionalEncoding`.

    Raises:
        ValueError: If D is unknown, `inputs` is a ragged tensor, a known T is longer than the table, or an eager call
            has a position past its end, unless given as `positions`. A TensorFlow graph fails with
            `InvalidArgumentError` then; under XLA and in compiled calls on JAX such positions get the last row.
            `keras_transformer.set_value_checks(False)` turns the checks at run time off.
    """

    def __init__(self, max_length: int, embeddings_initializer="uniform", **kwargs):
        super().__init__(**kwargs)
        check_positive_integers(max_length=max_length)
        self.max_length = max_length
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)

    def build(self, inputs_shape):
        if inputs_shape[-1] is None:
            raise ValueError(
                f"`inputs` must have a known width. Received: inputs_shape={tuple(inputs_shape)}. "
                "Project the inputs first."
            )
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.max_length, inputs_shape[-1]),
            initializer=self.embeddings_initializer,
        )

    def call(self, inputs, start_index=0, positions=None):
        check_dense(inputs)
        self._check_steps(inputs.shape)
        steps = sizes(inputs)[1]
        if positions is None and not (isinstance(steps, int) and isinstance(start_index, int) and start_index == 0):
            start_index = check_positions(start_index, steps, self.max_length)
        return super().call(inputs, start_index, positions)

    def compute_output_shape(self, inputs_shape):
        self._check_steps(inputs_shape)
        return inputs_shape

    def get_config(self):
        return {
            **super().get_config(),
            "max_length": self.max_length,
            "embeddings_initializer": keras.initializers.serialize(self.embeddings_initializer),
        }

    def _check_steps(self, shape):
        if isinstance(shape[1], int) and shape[1] > self.max_length:  # On JAX an unknown length is a symbol.
            raise ValueError(
                f"`inputs` must have at most max_length={self.max_length} steps. "
                f"Received: inputs.shape={tuple(shape)}. Shorten them or raise `max_length`."
            )

    def _encode(self, positions, hidden_dim):
        return ops.take(self.embeddings, ops.minimum(positions, self.max_length - 1), axis=0)
