"""Dropout layer that is faster on TensorFlow."""

import keras

from keras_transformer.ops.dropout import dropout


@keras.saving.register_keras_serializable("keras_transformer")
class Dropout(keras.layers.Dropout):
    """`keras.layers.Dropout` without `noise_shape`; see `keras_transformer.ops.dropout` for the difference."""

    def __init__(self, rate: float, seed: int | None = None, **kwargs):
        super().__init__(rate, seed=seed, **kwargs)

    def call(self, inputs, training=False):
        if training and self.rate > 0:
            return dropout(inputs, self.rate, self.seed_generator)
        return inputs

    def get_config(self):
        config = super().get_config()
        del config["noise_shape"]
        return config
