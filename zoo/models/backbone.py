"""Convolutional network that turns images into feature maps."""

import keras
from keras import ops


@keras.saving.register_keras_serializable("zoo")
class ResidualBackbone(keras.layers.Layer):
    """Computes feature maps by residual blocks of 3 x 3 convolutions.

        y = x + Conv(ReLU(Norm(Conv(ReLU(Norm(x))))))

    He et al. (2016), "Identity mappings in deep residual networks", figure 4e, with layer normalization over the
    channels of each cell, so that a prediction depends on nothing but its own image. The first convolution divides rows
    and columns by four; one before each further stage halves them and doubles the channels.
    Axes: B batch, H rows, W columns, S stages.

    Args:
        channels: Channels of the first stage.
        num_stages: Stages S.
        num_residual_blocks: Residual blocks of each stage.
        num_levels: Feature maps to return: those of the last stages.

    Call arguments:
        inputs: Float `[B, H, W, 3]`.

    Returns:
        A list of `num_levels` maps, float `[B, H / 2^(s + 1), W / 2^(s + 1), channels * 2^(s - 1)]` of stage s, sizes
        rounded up; the last one is that of stage S.
    """

    def __init__(self, channels: int, num_stages: int, num_residual_blocks: int, num_levels: int = 1, **kwargs):
        super().__init__(**kwargs)
        self.channels, self.num_stages, self.num_residual_blocks = channels, num_stages, num_residual_blocks
        self.num_levels = num_levels
        self.stages = []
        for stage in range(num_stages):
            width = channels * 2**stage
            size, stride = (7, 4) if stage == 0 else (3, 2)
            start = self._convolution(width, size, stride, f"stage_{stage}")
            blocks = [
                self._block(width, "_".join(("stage", str(stage), "block", str(i)))) for i in range(num_residual_blocks)
            ]
            self.stages.append([start, blocks])
        self.norms = [self._norm("_".join(("norm", str(level)))) for level in range(num_levels)]

    def build(self, inputs_shape=None):
        before = 3
        for start, blocks in self.stages:
            start.build((None, None, None, before))
            before = start.filters
            for layer in (layer for block in blocks for layer in block):
                layer.build((None, None, None, before))
        for norm, (start, _) in zip(self.norms, self.stages[-self.num_levels :]):
            norm.build((None, None, None, start.filters))
        self.built = True

    def call(self, inputs):
        x, maps = inputs, []
        for start, blocks in self.stages:
            x = start(x)
            for norm_1, convolution_1, norm_2, convolution_2 in blocks:
                x = x + convolution_2(ops.relu(norm_2(convolution_1(ops.relu(norm_1(x))))))
            maps.append(x)
        return [ops.relu(norm(x)) for norm, x in zip(self.norms, maps[-self.num_levels :])]

    def compute_output_shape(self, inputs_shape):
        shapes = []
        for stage in range(self.num_stages - self.num_levels, self.num_stages):
            sizes = [size and -(-size // 2 ** (stage + 2)) for size in inputs_shape[1:3]]
            shapes.append((inputs_shape[0], *sizes, self.channels * 2**stage))
        return shapes

    def get_config(self):
        names = "channels", "num_stages", "num_residual_blocks", "num_levels"
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}

    def _block(self, width, name):
        return [
            self._norm(f"{name}_norm_1"),
            self._convolution(width, 3, 1, f"{name}_convolution_1"),
            self._norm(f"{name}_norm_2"),
            self._convolution(width, 3, 1, f"{name}_convolution_2"),
        ]

    def _norm(self, name):
        return keras.layers.LayerNormalization(epsilon=1e-6, dtype=self.dtype_policy, name=name)

    def _convolution(self, width, size, stride, name):
        options = {"padding": "same", "kernel_initializer": "he_normal", "dtype": self.dtype_policy}
        return keras.layers.Conv2D(width, size, stride, **options, name=name)
