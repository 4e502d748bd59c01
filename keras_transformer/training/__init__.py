"""What training a Transformer needs beside Keras: its loss, its schedule, averaged checkpoints."""

from keras_transformer.training.averaging import average_arrays
from keras_transformer.training.losses import TokenCrossEntropy
from keras_transformer.training.replicas import prepare_replicas
from keras_transformer.training.schedules import InverseSquareRoot, PerUpdate

__all__ = ["InverseSquareRoot", "PerUpdate", "TokenCrossEntropy", "average_arrays", "prepare_replicas"]
