"""Random bars over spectrograms in training."""

from typing import Any

import keras
from keras import ops

from keras_transformer.ops import masks


@keras.saving.register_keras_serializable("keras_transformer")
class SpecAugment(keras.layers.Layer):
    """Sets random bars of a spectrogram to zero in training (SpecAugment without time warping: Park et al. 2019).

    The width of each bar is uniform from 0 to its maximum. Its place is uniform within the bands or the real frames of
    the row. Zero is the mean of inputs that are normalized, as they should be.
    Axes: B batch, T frames, M bands.

    Args:
        time_masks, time_width: Number of bars over frames, and their maximum width in frames.
        time_share: Maximum width as a share of the real frames of the row, too (p in the paper).
        frequency_masks, frequency_width: Number of bars over bands, and their maximum width in bands.
        seed: Of the bars.

    Call arguments:
        inputs: Float `[B, T, M]`.
        mask: Boolean `[B, T]`, True at real frames; defaults to the mask that `inputs` carries.
        training: Whether there are bars.

    Returns:
        Float `[B, T, M]`, with the same mask.

    Raises:
        ValueError: If a number is negative.
    """

    def __init__(
        self,
        time_masks: int = 2,
        time_width: int = 40,
        time_share: float = 0.2,
        frequency_masks: int = 2,
        frequency_width: int = 15,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._sizes = {
            "time_masks": time_masks,
            "time_width": time_width,
            "time_share": time_share,
            "frequency_masks": frequency_masks,
            "frequency_width": frequency_width,
        }
        for name, size in self._sizes.items():
            if size < 0:
                raise ValueError(f"`{name}` must not be negative. Received: {name}={size}. Use 0 for no bars.")
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.supports_masking = True

    def build(self, inputs_shape=None):
        self.built = True

    def call(self, inputs, mask=None, training=False):
        if not training:
            return inputs
        mask, sizes = masks.attached_mask(inputs, mask), self._sizes
        batch, frames, bands = ops.shape(inputs)
        lengths = ops.full((batch,), frames, "float32")
        if mask is not None:
            lengths = ops.sum(ops.cast(mask, "float32"), axis=1)
        widest = ops.minimum(float(sizes["time_width"]), ops.floor(sizes["time_share"] * lengths))
        hidden = self._bars(frames, lengths, widest, sizes["time_masks"])[:, :, None]
        lengths = ops.full((batch,), bands, "float32")
        widest = ops.minimum(float(sizes["frequency_width"]), lengths)
        hidden = ops.logical_or(hidden, self._bars(bands, lengths, widest, sizes["frequency_masks"])[:, None, :])
        return ops.where(hidden, ops.zeros((), inputs.dtype), inputs)

    def _bars(self, steps, lengths, widest, count):
        """Returns boolean `[B, steps]`: whether a step is in one of `count` bars of up to `widest` `[B]` steps."""
        if not count:
            return ops.zeros((ops.shape(lengths)[0], steps), "bool")
        draws = keras.random.uniform((2, ops.shape(lengths)[0], count), seed=self.seed_generator)
        width = ops.floor(draws[0] * (widest[:, None] + 1))
        first = ops.floor(draws[1] * (lengths[:, None] - width + 1))
        places = ops.cast(ops.arange(steps), "float32")[None, :, None]
        return ops.any(ops.logical_and(places >= first[:, None], places < (first + width)[:, None]), axis=-1)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        return {**super().get_config(), **self._sizes, "seed": self.seed}
