"""Position-wise feed-forward layer."""

import keras

from keras_transformer.layers.dense import Dense
from keras_transformer.layers.dropout import Dropout
from keras_transformer.ops.activations import get_activation
from keras_transformer.ops.arguments import check_positive_integers


@keras.saving.register_keras_serializable("keras_transformer")
class FeedForward(keras.layers.Layer):
    """Applies two dense layers to each step separately (Vaswani et al. 2017, eq. 2).

        FFN(x) = Dropout(activation(x W_1 + b_1)) W_2 + b_2

    Args:
        intermediate_dim: Inner width F.
        activation: Name or function; ReLU as published in 2017. Besides Keras's names there is "gelu_tanh", GPT-2's.
        dropout: Rate on the inner activations.
        use_bias: Whether there are b_1 and b_2.

    Call arguments:
        inputs: Float `[B, T, D]`; its mask is kept.

    Returns:
        Float `[B, T, D]`.

    Raises:
        ValueError: If `intermediate_dim` is not positive or D is unknown.
    """

    def __init__(self, intermediate_dim: int, activation="relu", dropout: float = 0.0, use_bias: bool = True, **kwargs):
        super().__init__(**kwargs)
        check_positive_integers(intermediate_dim=intermediate_dim)
        self.intermediate_dim = intermediate_dim
        self.activation = get_activation(activation)
        self.dropout = dropout
        self.use_bias = use_bias
        self.supports_masking = True
        self.inner_dense = self._dense(intermediate_dim, "inner_dense", self.activation)
        self.dropout_layer = Dropout(dropout, dtype=self.dtype_policy, name="activation_dropout")

    def build(self, inputs_shape):
        if inputs_shape[-1] is None:
            raise ValueError(
                f"`inputs` must have a known width. Received: inputs_shape={tuple(inputs_shape)}. "
                "Project the inputs first."
            )
        self.output_dense = self._dense(inputs_shape[-1], "output_dense")
        self.inner_dense.build(inputs_shape)
        self.output_dense.build((*inputs_shape[:-1], self.intermediate_dim))

    def call(self, inputs):
        return self.output_dense(self.dropout_layer(self.inner_dense(inputs)))

    def compute_mask(self, inputs, previous_mask=None):
        return previous_mask

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        return {
            **super().get_config(),
            "intermediate_dim": self.intermediate_dim,
            "activation": keras.activations.serialize(self.activation),
            "dropout": self.dropout,
            "use_bias": self.use_bias,
        }

    def _dense(self, units, name, activation=None):
        return Dense(units, activation=activation, use_bias=self.use_bias, dtype=self.dtype_policy, name=name)
