"""Pictures of what attention models compute, as matplotlib figures: `figure.savefig("attention.png")`.

Not a part of `import keras_transformer`, because matplotlib is optional.
"""

from keras_transformer.visualize.attention import plot_attention
from keras_transformer.visualize.beams import BeamRecorder, plot_beam
from keras_transformer.visualize.masks import plot_masks
from keras_transformer.visualize.positions import plot_positions
from keras_transformer.visualize.training import plot_schedule, plot_training

__all__ = [
    "BeamRecorder",
    "plot_attention",
    "plot_beam",
    "plot_masks",
    "plot_positions",
    "plot_schedule",
    "plot_training",
]
