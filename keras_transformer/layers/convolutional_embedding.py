"""Images to grids of vectors by convolutions."""

import itertools
from typing import Any

import keras
from keras import ops

from keras_transformer.layers.patch_embedding import check_channels
from keras_transformer.layers.residual_convolutions import ResidualConvolutions
from keras_transformer.ops import masks
from keras_transformer.ops.arguments import check_positive_integers, is_integer
from keras_transformer.ops.values import check_dense

_BORDER = (0, 0), (1, 1), (1, 1), (0, 0)  # Pixels around an image.


@keras.saving.register_keras_serializable("keras_transformer")
class ConvolutionalEmbedding(keras.layers.Layer):
    """Embeds images by N convolutions, each followed by ReLU and, in a window of 3 with a stride of 2, the maximum.

        y = MaxPool(ReLU(Conv(x)))

    Hassani et al. (2021), "Escaping the big data paradigm with compact transformers", eq. 6. Convolutions see across
    the borders of patches, so a small model learns from few images. They have no bias. Windows are centred on every
    second pixel from the first on, and padded alike on all sides. Behind each maximum there may be
    `ResidualConvolutions`: with more of them, a model needs fewer epochs (Xiao et al. 2021, "Early convolutions help
    transformers see better").
    Axes: B batch, H rows, W columns, C channels, D width.

    Args:
        hidden_dim: Width D of the last convolution.
        num_layers: Convolutions N; each halves rows and columns, rounded up.
        kernel_size: Rows and columns of a convolution.
        inner_dim: Channels of the first convolution. The last one always has D.
        channel_growth: Factor of the channels from each convolution to the next, but for the last.
        num_residual_blocks: `ResidualConvolutions` behind each of the N convolutions.
        normalization: That of the `ResidualConvolutions`, "layer" or "batch".

    Call arguments:
        inputs: Float `[B, H, W, C]`.
        mask: Boolean `[B, H, W]`, True at real pixels of images that are padded to one size; defaults to the mask that
            `inputs` carries. Padded pixels count as zeros in each convolution.

    Returns:
        Float `[B, H / 2^N, W / 2^N, D]`. If there is a mask for pixels, with a mask, True at cells whose central
        pixel is real, so that padding changes no cell.

    Raises:
        ValueError: If a setting is invalid, or C is unknown.
    """

    def __init__(
        self,
        hidden_dim: int,
        num_layers: int = 2,
        kernel_size: int = 3,
        inner_dim: int = 64,
        num_residual_blocks: int = 0,
        channel_growth: int = 1,
        normalization: str = "layer",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        sizes = {
            "hidden_dim": hidden_dim,
            "num_layers": num_layers,
            "kernel_size": kernel_size,
            "inner_dim": inner_dim,
            "channel_growth": channel_growth,
        }
        check_positive_integers(**sizes)
        self.hidden_dim, self.num_layers, self.kernel_size, self.inner_dim, self.channel_growth = sizes.values()
        if not is_integer(num_residual_blocks) or num_residual_blocks < 0:
            raise ValueError(
                "`num_residual_blocks` must be an integer of at least 0. Received: "
                f"num_residual_blocks={num_residual_blocks!r}."
            )
        if normalization != "layer" and not num_residual_blocks:
            raise ValueError(
                f"Only residual blocks are normalized. Received: normalization={normalization!r} with "
                "num_residual_blocks=0. Leave it out, or ask for blocks."
            )
        self.num_residual_blocks, self.normalization = num_residual_blocks, normalization
        self.residuals = [
            [self._residual(f"residual_{i}_{j}") for j in range(num_residual_blocks)] for i in range(num_layers)
        ]
        self.supports_masking = True

    def build(self, inputs_shape):
        check_channels(inputs_shape)
        inner = [self.inner_dim * self.channel_growth**i for i in range(self.num_layers - 1)]
        widths = [inputs_shape[-1], *inner, self.hidden_dim]
        self.kernels = [
            self.add_weight(
                name=f"kernel_{i}", shape=(self.kernel_size, self.kernel_size, *pair), initializer="he_normal"
            )
            for i, pair in enumerate(itertools.pairwise(widths))
        ]
        for width, blocks in zip(widths[1:], self.residuals):
            for block in blocks:
                block.build((None, None, None, width))

    def call(self, inputs, mask=None):
        check_dense(inputs)
        mask = masks.attached_mask(inputs, mask)
        for kernel, blocks in zip(self.kernels, self.residuals):
            if mask is not None:
                inputs = inputs * ops.cast(mask, inputs.dtype)[..., None]
            inputs = ops.relu(ops.conv(inputs, kernel, padding="same"))
            if mask is not None:  # No window has the maximum of a pixel that only padding is next to.
                inputs = inputs * ops.cast(mask, inputs.dtype)[..., None]
                mask = mask[:, ::2, ::2]
            inputs = ops.max_pool(ops.pad(inputs, _BORDER), 3, 2, "valid")
            for block in blocks:
                inputs = block(inputs, mask=mask)
        return inputs

    def compute_mask(self, inputs, previous_mask=None):
        mask = masks.attached_mask(inputs, previous_mask)
        if mask is not None:
            for _ in range(self.num_layers):
                mask = mask[:, ::2, ::2]
        return mask

    def compute_output_shape(self, inputs_shape):
        batch, *grid, _ = inputs_shape
        for _ in range(self.num_layers):
            grid = [size if size is None else -(-size // 2) for size in grid]
        return batch, *grid, self.hidden_dim

    def get_config(self):
        names = "hidden_dim", "num_layers", "kernel_size", "inner_dim", "channel_growth", "num_residual_blocks"
        names = *names, "normalization"
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}

    def _residual(self, name):
        return ResidualConvolutions(self.kernel_size, self.normalization, dtype=self.dtype_policy, name=name)
