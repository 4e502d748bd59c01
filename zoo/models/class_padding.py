"""Logits of heads with different numbers of classes in one tensor, and of positions whose class is given."""

from typing import Any

import keras
from keras import ops

NEVER = -1e4  # A logit of what has no probability; finite in float16.
_CERTAINLY_NOT = -1e30


def pad_classes(logits: Any, count: int) -> Any:
    """Adds classes that have no probability to logits `[..., C]`, until there are `count`."""
    missing = count - logits.shape[-1]
    return ops.pad(logits, [(0, 0)] * (len(logits.shape) - 1) + [(0, missing)], constant_values=NEVER)


def certain_positions(logits: Any, certain: Any, class_ids: Any) -> Any:
    """Gives some positions a class for certain, as `keras_transformer.training.ctc_loss` expects it of padding.

    Args:
        logits: `[B, F, V]`. Those in float16 become float32.
        certain: Booleans `[B, F]`: which positions.
        class_ids: The class of all of them, or integers `[B, F]`.
    """
    if keras.backend.standardize_dtype(logits.dtype) == "float16":
        logits = ops.cast(logits, "float32")
    own = ops.equal(ops.arange(logits.shape[-1], dtype="int32"), ops.convert_to_tensor(class_ids)[..., None])
    # Not even a text that fits nowhere else may have another token there, so the logit is as low as in `ctc_loss`.
    fixed = ops.cast(ops.where(own, 0.0, _CERTAINLY_NOT), logits.dtype)
    return ops.where(certain[..., None], fixed, logits)
