"""Logits of heads with different numbers of classes in one tensor, and of positions of padding."""

from typing import Any

from keras import ops

NEVER = -1e4  # A logit of what has no probability; finite in float16.


def pad_classes(logits: Any, count: int) -> Any:
    """Adds classes that have no probability to logits `[..., C]`, until there are `count`."""
    missing = count - logits.shape[-1]
    return ops.pad(logits, [(0, 0)] * (len(logits.shape) - 1) + [(0, missing)], constant_values=NEVER)


def pad_positions(logits: Any, mask: Any, blank_id: int) -> Any:
    """Makes positions of padding blank for certain, as `keras_transformer.training.ctc_loss` expects.

    Args:
        logits: `[B, F, V]`.
        mask: Booleans `[B, F]`, false for padding.
        blank_id: Class of positions without a token.
    """
    blank = ops.equal(ops.arange(logits.shape[-1]), blank_id)
    return ops.where(mask[..., None], logits, ops.where(blank, 0.0, ops.cast(NEVER, logits.dtype)))
