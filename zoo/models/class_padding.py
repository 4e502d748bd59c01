"""Logits of heads with different numbers of classes in one tensor, and of positions of padding."""

from typing import Any

import keras
from keras import ops

NEVER = -1e4  # A logit of what has no probability; finite in float16.
_CERTAINLY_NOT = -1e30


def pad_classes(logits: Any, count: int) -> Any:
    """Adds classes that have no probability to logits `[..., C]`, until there are `count`."""
    missing = count - logits.shape[-1]
    return ops.pad(logits, [(0, 0)] * (len(logits.shape) - 1) + [(0, missing)], constant_values=NEVER)


def pad_positions(logits: Any, mask: Any, blank_id: int) -> Any:
    """Makes positions of padding blank for certain, as `keras_transformer.training.ctc_loss` expects.

    Args:
        logits: `[B, F, V]`. Those in float16 become float32.
        mask: Booleans `[B, F]`, false for padding.
        blank_id: Class of positions without a token.
    """
    if keras.backend.standardize_dtype(logits.dtype) == "float16":
        logits = ops.cast(logits, "float32")
    blank = ops.equal(ops.arange(logits.shape[-1]), blank_id)
    # Not even a text that fits nowhere else may have a token there, so the logit is as low as in `ctc_loss`.
    never = ops.cast(ops.where(blank, 0.0, _CERTAINLY_NOT), logits.dtype)
    return ops.where(mask[..., None], logits, never)
