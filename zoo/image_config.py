"""Configuration of models of images."""

from dataclasses import dataclass

from zoo.config import BlockConfig
from zoo.config_checks import choice, positive, zero_or_more


@dataclass(frozen=True)
class ImageConfig(BlockConfig):
    """Configures an encoder of images.

    Args:
        num_layers: Blocks N.
        image_size: Rows and columns of the images, to which others are resized.
        embedding: "convolutions" (Hassani et al. 2021), each of which halves rows and columns, or "patches"
            (Dosovitskiy et al. 2021).
        num_convolutions: Number of convolutions.
        inner_dim: Channels of the first convolution. The last one always has `hidden_dim`.
        channel_growth: Factor of the channels from each convolution to the next, but for the last.
        num_residual_blocks: Pairs of convolutions with a shortcut (He et al. 2016) behind each convolution.
        convolution_normalization: Normalization of these pairs: "layer", or "batch" (Ioffe and Szegedy 2015).
        patch_size: Rows and columns of a patch.
        positions: "learned" or "sinusoidal".
    """

    num_layers: int = positive(6)
    image_size: int = positive(32)
    embedding: str = choice("convolutions", "patches")
    num_convolutions: int = positive(2)
    inner_dim: int = positive(64)
    channel_growth: int = positive(1)
    num_residual_blocks: int = zero_or_more(0)
    convolution_normalization: str = choice("layer", "batch")
    patch_size: int = positive(4)
    positions: str = choice("learned", "sinusoidal")

    def __post_init__(self):
        super().__post_init__()
        if self.embedding == "patches" and self.image_size % self.patch_size:
            raise ValueError(
                f"`image_size` must be a multiple of `patch_size`. Received: image_size={self.image_size}, "
                f"patch_size={self.patch_size}. Change one of both."
            )
        if self.embedding == "patches" and self.num_residual_blocks:
            raise ValueError(
                f"Patches have no convolutions. Received: num_residual_blocks={self.num_residual_blocks} with "
                'embedding="patches". Set num_residual_blocks to 0, or embedding to "convolutions".'
            )
        if self.convolution_normalization == "batch" and not self.num_residual_blocks:
            raise ValueError(
                "Only pairs of convolutions are normalized. Received: convolution_normalization='batch' with "
                "num_residual_blocks=0. Set num_residual_blocks to 1 or more."
            )
        if self.positions == "sinusoidal" and self.hidden_dim % 4:
            raise ValueError(
                f"Sinusoids of rows and columns need a multiple of 4. Received: hidden_dim={self.hidden_dim}. Use "
                'positions="learned", or another width.'
            )

    @property
    def grid_size(self) -> int:
        """Rows and columns of vectors."""
        if self.embedding == "patches":
            return self.image_size // self.patch_size
        return -(-self.image_size // 2**self.num_convolutions)


@dataclass(frozen=True)
class ImageClassifierConfig(ImageConfig):
    """Configures an encoder that predicts one class for each image.

    Args:
        num_classes: Classes C.
        pooling: How vectors become one: by "attention", their "mean", or a class "token" that is read beside them; for
            "tokens", there is a second one, of distillation (Touvron et al. 2021, DeiT), and the head reads both.
    """

    num_classes: int = positive(2)
    pooling: str = choice("attention", "mean", "token", "tokens")

    @property
    def num_class_tokens(self) -> int:
        """Number of learned vectors before those of the image."""
        return {"token": 1, "tokens": 2}.get(self.pooling, 0)
