"""Images to grids of vectors, patch by patch."""

from typing import Any

import keras
from keras import ops

from keras_transformer.ops import masks
from keras_transformer.ops.arguments import check_positive_integers
from keras_transformer.ops.values import check_dense


@keras.saving.register_keras_serializable("keras_transformer")
class PatchEmbedding(keras.layers.Layer):
    """Projects the patches of an image to vectors: `y[b, i, j] = W patch[b, i, j] + c`.

    Dosovitskiy et al. (2021), "An image is worth 16x16 words", eq. 1, with the grid still in two axes.
    Axes: B batch, H rows, W columns, C channels, P size of a patch, D width.

    Args:
        hidden_dim: Width D.
        patch_size: Rows and columns P of a patch.

    Call arguments:
        inputs: Float `[B, H, W, C]`, H and W multiples of P.
        mask: Boolean `[B, H, W]`, True at real pixels of images that are padded to one size; defaults to the mask that
            `inputs` carries.

    Returns:
        Float `[B, H / P, W / P, D]`, with a mask, True at patches that have a real pixel, if there is one for pixels.

    Raises:
        ValueError: If C is unknown, or a known H or W is no multiple of P.
    """

    def __init__(self, hidden_dim: int, patch_size: int, **kwargs: Any):
        super().__init__(**kwargs)
        check_positive_integers(hidden_dim=hidden_dim, patch_size=patch_size)
        self.hidden_dim, self.patch_size = hidden_dim, patch_size
        self.supports_masking = True

    def build(self, inputs_shape):
        check_channels(inputs_shape)
        shape = (self.patch_size, self.patch_size, inputs_shape[-1], self.hidden_dim)
        self.kernel = self.add_weight(name="kernel", shape=shape, initializer="glorot_uniform")
        self.bias = self.add_weight(name="bias", shape=(self.hidden_dim,), initializer="zeros")

    def call(self, inputs, mask=None):
        check_dense(inputs)
        self._check_size(inputs.shape)
        return ops.conv(inputs, self.kernel, self.patch_size, "valid") + self.bias

    def compute_mask(self, inputs, previous_mask=None):
        mask = masks.attached_mask(inputs, previous_mask)
        if mask is None:
            return None
        real = ops.expand_dims(ops.cast(mask, "float32"), -1)
        return ops.squeeze(ops.max_pool(real, self.patch_size, self.patch_size, "valid"), -1) > 0.5

    def compute_output_shape(self, inputs_shape):
        self._check_size(inputs_shape)
        batch, *grid, _ = inputs_shape
        return batch, *(size if size is None else size // self.patch_size for size in grid), self.hidden_dim

    def get_config(self):
        return {**super().get_config(), "hidden_dim": self.hidden_dim, "patch_size": self.patch_size}

    def _check_size(self, shape):
        if any(isinstance(size, int) and size % self.patch_size for size in shape[1:3]):
            raise ValueError(
                f"Rows and columns of `inputs` must be multiples of patch_size={self.patch_size}. "
                f"Received: inputs.shape={tuple(shape)}. Resize or pad the images."
            )


def check_channels(shape: tuple) -> None:
    """Raises `ValueError` unless a shape is `[B, H, W, C]` with a known C."""
    if len(shape) != 4 or shape[-1] is None:
        raise ValueError(
            f"`inputs` must be `[B, H, W, C]` with a known number of channels. Received: inputs_shape={tuple(shape)}."
        )
