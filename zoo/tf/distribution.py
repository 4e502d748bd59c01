"""Training on all devices of a machine."""

import tensorflow as tf


def mirrored_strategy() -> tf.distribute.Strategy:
    """One replica on each GPU that TensorFlow sees, or on each logical CPU if there is none; one device works too."""
    return tf.distribute.MirroredStrategy()


def graphics_cards() -> list[str]:
    """The GPUs that TensorFlow sees, as `GPU:0`."""
    return [f"GPU:{number}" for number in range(len(tf.config.list_physical_devices("GPU")))]
