"""Position-wise feed-forward layer with a gate."""

import keras

from keras_transformer.layers.feed_forward import FeedForward


@keras.saving.register_keras_serializable("keras_transformer")
class GatedFeedForward(FeedForward):
    """`FeedForward` whose inner units are multiplied by others (Shazeer 2020, eq. 5 and 6).

        FFN(x) = Dropout(activation(x W_1 + b_1) * (x V + c)) W_2 + b_2

    The activation "sigmoid" gives GLU, "linear" Bilinear, "relu" ReGLU, "gelu" GEGLU, and "swish" SwiGLU. Published
    without biases (`use_bias=False`). With two thirds of the inner width, it has the parameters of `FeedForward`.

    Args:
        intermediate_dim: Inner width F.
        activation, dropout, use_bias: As for `FeedForward`.

    Call arguments, outputs and errors are those of `FeedForward`.
    """

    def __init__(
        self, intermediate_dim: int, activation="swish", dropout: float = 0.0, use_bias: bool = True, **kwargs
    ):
        super().__init__(intermediate_dim, activation, dropout, use_bias, **kwargs)
        self.gate_dense = self._dense(intermediate_dim, "gate_dense")

    def build(self, inputs_shape):
        super().build(inputs_shape)
        self.gate_dense.build(inputs_shape)

    def call(self, inputs):
        inner = self.inner_dense(inputs) * self.gate_dense(inputs)
        return self.output_dense(self.dropout_layer(inner))
