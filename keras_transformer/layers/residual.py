"""Residual connection, pre-norm or post-norm."""

import keras

from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.normalization import LayerNormalization, make_normalization, normalize
from keras_transformer.ops.sizes import keep_sizes


@keras.saving.register_keras_serializable("keras_transformer")
class Residual(keras.layers.Layer):
    """Surrounds a sublayer F with normalisation, dropout and a shortcut.

        post-norm (Vaswani et al. 2017, section 3.1)   y = LayerNorm(x + Dropout(F(x)))
        pre-norm  (Xiong et al. 2020)                  y = x + Dropout(F(LayerNorm(x)))

    Call it in two parts, `y = residual(x, F(residual.prepare(x)))`, so that the sublayer is an ordinary call.
    A residual with another normalisation, such as `keras.layers.RMSNormalization` (Zhang and Sennrich 2019), sets
    `normalization_class`; a block of such residuals sets `residual_class`. A normalisation that takes a `mask` gets it.

    Args:
        dropout: Rate on the sublayer's output.
        normalize_first: Pre-norm if True.
        epsilon: Added to the variance by the normalisation.

    Call arguments:
        inputs: Float `[B, T, D]`, the x of the equation; its mask is kept.
        sublayer_outputs: Float `[B, T, D]`, the F(...) of the equation.
        inputs_mask: Boolean `[B, T]`, True at real steps; defaults to the mask that `inputs` carries.
    """

    normalization_class = LayerNormalization

    def __init__(self, dropout: float = 0.0, normalize_first: bool = False, epsilon: float = 1e-6, **kwargs):
        super().__init__(**kwargs)
        self.normalize_first = normalize_first
        self.epsilon = epsilon
        self.dropout = dropout
        self.supports_masking = True
        self.norm = make_normalization(self.normalization_class, epsilon, self.dtype_policy)
        self.dropout_layer = Dropout(dropout, dtype=self.dtype_policy, name="dropout")

    def build(self, inputs_shape, sublayer_outputs_shape=None):
        self.norm.build(inputs_shape)

    def prepare(self, inputs, mask=None):
        """Returns the inputs of the sublayer: normalised in pre-norm, unchanged in post-norm."""
        return keep_sizes(normalize(self.norm, inputs, mask), inputs) if self.normalize_first else inputs

    def call(self, inputs, sublayer_outputs, inputs_mask=None):
        outputs = inputs + self.dropout_layer(sublayer_outputs)
        return keep_sizes(outputs if self.normalize_first else normalize(self.norm, outputs, inputs_mask), inputs)

    def compute_mask(self, inputs, previous_mask=None):
        return previous_mask

    def compute_output_shape(self, inputs_shape, sublayer_outputs_shape=None):
        return inputs_shape

    def get_config(self):
        return {
            **super().get_config(),
            "dropout": self.dropout,
            "normalize_first": self.normalize_first,
            "epsilon": self.epsilon,
        }
