"""Residual connection with RMS normalization."""

import keras

from keras_transformer import Residual


@keras.saving.register_keras_serializable("zoo")
class RMSResidual(Residual):
    """`Residual` with RMS normalization (Zhang and Sennrich 2019)."""

    normalization_class = keras.layers.RMSNormalization
