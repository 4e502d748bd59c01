"""Logits of heads with different numbers of classes in one tensor."""

from typing import Any

from keras import ops

NEVER = -1e4  # A logit of what has no probability; finite in float16.


def pad_classes(logits: Any, count: int) -> Any:
    """Adds classes that have no probability to logits `[..., C]`, until there are `count`."""
    missing = count - logits.shape[-1]
    return ops.pad(logits, [(0, 0)] * (len(logits.shape) - 1) + [(0, missing)], constant_values=NEVER)
