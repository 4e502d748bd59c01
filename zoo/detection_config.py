"""Configuration of models that detect objects."""

import math
from dataclasses import dataclass

from zoo.config import BlockConfig
from zoo.config_checks import checked, positive


@dataclass(frozen=True)
class DetectorConfig(BlockConfig):
    """Configures a model that finds the objects of an image as a set.

    Args:
        num_encoder_layers, num_decoder_layers: Blocks N in each stack.
        image_rows, image_columns: Size to which images are resized. They keep their proportions, and are padded.
        channels: Channels of the first stage of the convolutional backbone; each further stage has twice as many.
        num_stages: Stages of the backbone. The first divides rows and columns by four, each further one by two.
        num_residual_blocks: Residual blocks of each stage.
        num_levels: Feature maps that the decoder reads: those of the last stages. The encoder reads the last one.
        num_queries: Object queries Q, the largest number of objects in an image.
        query_groups: Groups G of queries in training (Chen et al. 2023), each of which learns to find all objects. The
            first one predicts.
        two_stage: Whether the queries are the most probable cells of the encoder, not learned.
        num_classes: Classes C, without the class "no object".
        no_object_weight: Weight of the class "no object" in the loss.
    """

    num_encoder_layers: int = positive(3)
    num_decoder_layers: int = positive(3)
    image_rows: int = positive(320)
    image_columns: int = positive(320)
    channels: int = positive(32)
    num_stages: int = positive(3)
    num_residual_blocks: int = positive(2)
    num_levels: int = positive(1)
    num_queries: int = positive(60)
    query_groups: int = positive(1)
    two_stage: bool = False
    normalize_first: bool = True
    num_classes: int = positive(1)
    no_object_weight: float = checked(0.1, "lie in (0, 1]", lambda value: 0 < value <= 1)

    def __post_init__(self):
        super().__post_init__()
        if self.hidden_dim % 4:
            raise ValueError(
                f"Sinusoids of rows and columns need a multiple of 4. Received: hidden_dim={self.hidden_dim}. Use "
                "another width."
            )
        if self.num_levels > self.num_stages:
            raise ValueError(
                f"There are as many feature maps as stages. Received: num_levels={self.num_levels}, "
                f"num_stages={self.num_stages}. Lower num_levels."
            )
        if self.two_stage and self.query_groups > 1:
            raise ValueError(
                "Cells of the encoder are one group of queries. Received: two_stage=True, query_groups="
                f"{self.query_groups}. Set query_groups to 1."
            )
        if self.two_stage and self.num_queries > math.prod(self.grid(self.strides[-1])):
            raise ValueError(
                f"There are as many queries as cells, {math.prod(self.grid(self.strides[-1]))}, or fewer. Received: "
                f"num_queries={self.num_queries}. Lower it, or num_stages."
            )
        if not self.normalize_first:
            raise ValueError("The blocks of a detector are pre-norm. Received: normalize_first=False. Set it to true.")

    @property
    def strides(self) -> tuple[int, ...]:
        """Pixels from one cell of a feature map to the next, the finest of `num_levels` maps first."""
        return tuple(2 ** (stage + 1) for stage in range(self.num_stages - self.num_levels + 1, self.num_stages + 1))

    def grid(self, stride: int) -> tuple[int, int]:
        """Returns rows and columns of a feature map."""
        return -(-self.image_rows // stride), -(-self.image_columns // stride)
