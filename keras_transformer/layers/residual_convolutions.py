"""Two convolutions with a shortcut around them."""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.batch_normalization import BatchNormalization
from keras_transformer.layers.normalization import LayerNormalization, normalize
from keras_transformer.layers.patch_embedding import check_channels
from keras_transformer.ops import masks
from keras_transformer.ops.arguments import check_positive_integers
from keras_transformer.ops.values import check_dense

_NORMALIZATIONS = {"layer": LayerNormalization, "batch": BatchNormalization}


@keras.saving.register_keras_serializable("keras_transformer")
class ResidualConvolutions(keras.layers.Layer):
    """Adds to a feature map what two convolutions make of it.

        y = x + Conv(ReLU(Norm(Conv(ReLU(Norm(x))))))

    He et al. (2016), "Identity mappings in deep residual networks", figure 4e. With the `BatchNormalization` of the
    paper, a model needs far fewer epochs; with layer normalization over the channels of each cell, the output depends
    on nothing but its own image in training, too.
    Axes: B batch, H rows, W columns, C channels.

    Args:
        kernel_size: Rows and columns of both convolutions.
        normalization: "layer" or "batch".

    Call arguments:
        inputs: Float `[B, H, W, C]`.
        mask: Boolean `[B, H, W]`, True at real cells of maps that are padded to one size; defaults to the mask that
            `inputs` carries. Padded cells count as zeros in each convolution.

    Returns:
        Float `[B, H, W, C]`, with the mask of the inputs.

    Raises:
        ValueError: If a setting is invalid, or C is unknown.
    """

    def __init__(self, kernel_size: int = 3, normalization: str = "layer", **kwargs: Any):
        super().__init__(**kwargs)
        check_positive_integers(kernel_size=kernel_size)
        if normalization not in _NORMALIZATIONS:
            raise ValueError(f"`normalization` must be 'layer' or 'batch'. Received: normalization={normalization!r}.")
        self.kernel_size, self.normalization = kernel_size, normalization
        norm = _NORMALIZATIONS[normalization]
        self.norms = [norm(dtype=self.dtype_policy, name=f"norm_{i}") for i in (1, 2)]
        self.supports_masking = True

    def build(self, inputs_shape):
        check_channels(inputs_shape)
        shape = (self.kernel_size, self.kernel_size, inputs_shape[-1], inputs_shape[-1])
        self.kernels = [self.add_weight(name=f"kernel_{i}", shape=shape, initializer="he_normal") for i in (1, 2)]
        for norm in self.norms:
            norm.build(inputs_shape)

    def call(self, inputs, mask=None):
        check_dense(inputs)
        mask = masks.attached_mask(inputs, mask)
        x = inputs
        for norm, kernel in zip(self.norms, self.kernels):
            x = ops.relu(normalize(norm, x, mask))
            if mask is not None:
                x = x * ops.cast(mask, x.dtype)[..., None]
            x = ops.conv(x, kernel, padding="same")
        return inputs + x

    def compute_mask(self, inputs, previous_mask=None):
        return masks.attached_mask(inputs, previous_mask)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        return {**super().get_config(), "kernel_size": self.kernel_size, "normalization": self.normalization}
