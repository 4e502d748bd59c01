"""Frames of sound to fewer vectors by convolutions."""

import itertools
from typing import Any

import keras
from keras import ops

from keras_transformer.ops import masks
from keras_transformer.ops.activations import get_activation
from keras_transformer.ops.arguments import check_positive_integers
from keras_transformer.ops.values import check_dense


@keras.saving.register_keras_serializable("keras_transformer")
class ConvolutionalSubsampling(keras.layers.Layer):
    """Shortens sequences by N convolutions over the steps with a stride of 2, each followed by an activation.

        y = g(Conv(x))

    Such layers are between the spectrogram and the blocks of speech models (Synnaeve et al. 2020; Radford et al. 2023).
    Windows are centred on every second step from the first on. Axes: B batch, T steps, C channels, D width.

    Args:
        hidden_dim: Width D of the last convolution.
        num_layers: Convolutions N; each halves the steps, rounded up.
        kernel_size: Steps of a convolution, an odd number.
        inner_dim: Channels of the convolutions before the last; D by default.
        activation: Activation g.

    Call arguments:
        inputs: Float `[B, T, C]`.
        mask: Boolean `[B, T]`, True at real steps; defaults to the mask that `inputs` carries. Padding counts as zeros
            in each convolution.

    Returns:
        Float `[B, T / 2^N, D]`. If there is a mask, with one, True at steps whose central input is real, so that
        padding changes no step.

    Raises:
        ValueError: If C is unknown, or a size is not positive.
    """

    def __init__(
        self,
        hidden_dim: int,
        num_layers: int = 2,
        kernel_size: int = 3,
        inner_dim: int | None = None,
        activation: Any = "gelu",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        inner_dim = hidden_dim if inner_dim is None else inner_dim
        sizes = {"hidden_dim": hidden_dim, "num_layers": num_layers, "kernel_size": kernel_size, "inner_dim": inner_dim}
        check_positive_integers(**sizes)
        if kernel_size % 2 == 0:
            raise ValueError(f"`kernel_size` must be odd, to have a centre. Received: kernel_size={kernel_size}.")
        self.hidden_dim, self.num_layers, self.kernel_size, self.inner_dim = sizes.values()
        self.activation = get_activation(activation)
        self.supports_masking = True

    def build(self, inputs_shape):
        if len(inputs_shape) != 3 or inputs_shape[-1] is None:
            raise ValueError(
                "`inputs` must be [batch, steps, channels] with a known number of channels. Received: "
                f"inputs_shape={tuple(inputs_shape)}."
            )
        widths = [inputs_shape[-1], *[self.inner_dim] * (self.num_layers - 1), self.hidden_dim]
        self.kernels, self.biases = [], []
        for i, (before, after) in enumerate(itertools.pairwise(widths)):
            shape = self.kernel_size, before, after
            self.kernels.append(self.add_weight(name=f"kernel_{i}", shape=shape, initializer="he_normal"))
            self.biases.append(self.add_weight(name=f"bias_{i}", shape=(after,), initializer="zeros"))

    def call(self, inputs, mask=None):
        check_dense(inputs)
        mask, border = masks.attached_mask(inputs, mask), self.kernel_size // 2
        for kernel, bias in zip(self.kernels, self.biases):
            if mask is not None:
                inputs = inputs * ops.cast(mask, inputs.dtype)[..., None]
                mask = mask[:, ::2]
            inputs = ops.pad(inputs, ((0, 0), (border, border), (0, 0)))  # "same" depends on the number of steps.
            inputs = self.activation(ops.conv(inputs, kernel, 2, "valid") + bias)
        return inputs

    def compute_mask(self, inputs, previous_mask=None):
        mask = masks.attached_mask(inputs, previous_mask)
        return None if mask is None else mask[:, :: 2**self.num_layers]

    def compute_output_shape(self, inputs_shape):
        batch, steps, _ = inputs_shape
        return batch, None if steps is None else -(-steps // 2**self.num_layers), self.hidden_dim

    def get_config(self):
        names = "hidden_dim", "num_layers", "kernel_size", "inner_dim"
        sizes = {name: getattr(self, name) for name in names}
        return {**super().get_config(), **sizes, "activation": keras.activations.serialize(self.activation)}
