"""Training of Transformers: loss, learning rate schedules, averaged checkpoints, replicas, LoRA, reproducibility."""

from keras_transformer.ops.determinism import set_reproducible
from keras_transformer.training.averaging import average_arrays
from keras_transformer.training.ctc import ctc_alignment, ctc_loss
from keras_transformer.training.lora import enable_lora, merged_kernel
from keras_transformer.training.losses import TokenCrossEntropy
from keras_transformer.training.r_drop import RDropCrossEntropy
from keras_transformer.training.replicas import prepare_replicas
from keras_transformer.training.schedules import InverseSquareRoot, PerUpdate

__all__ = [
    "InverseSquareRoot",
    "PerUpdate",
    "RDropCrossEntropy",
    "TokenCrossEntropy",
    "average_arrays",
    "ctc_alignment",
    "ctc_loss",
    "enable_lora",
    "merged_kernel",
    "prepare_replicas",
    "set_reproducible",
]
