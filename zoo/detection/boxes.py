"""Areas of boxes, and how much two of them overlap."""

from typing import Any

from keras import ops


def corners(boxes: Any) -> Any:
    """Converts boxes `[..., 4]` from (centre x, centre y, width, height) to (left, top, right, bottom)."""
    centres, sizes = boxes[..., :2], boxes[..., 2:]
    return ops.concatenate([centres - sizes / 2, centres + sizes / 2], axis=-1)


def generalized_iou(first: Any, second: Any) -> Any:
    """Computes the generalized intersection over union of boxes (Rezatofighi et al. 2019, algorithm 1).

        GIoU = |A & B| / |A | B| - |H - A | B| / |H|,  H the smallest box around A and B

    It is 1 for the same box, and goes to -1 with the distance. Unlike the intersection over union, it has a gradient
    where boxes do not meet.

    Args:
        first, second: Float `[..., 4]` as (left, top, right, bottom); shapes that broadcast.

    Returns:
        Float `[...]`.
    """
    inside = _area(ops.maximum(first[..., :2], second[..., :2]), ops.minimum(first[..., 2:], second[..., 2:]))
    around = _area(ops.minimum(first[..., :2], second[..., :2]), ops.maximum(first[..., 2:], second[..., 2:]))
    union = sum(_area(boxes[..., :2], boxes[..., 2:]) for boxes in (first, second)) - inside
    return inside / ops.maximum(union, 1e-9) - (around - union) / ops.maximum(around, 1e-9)


def _area(least, most):
    sides = ops.maximum(most - least, 0.0)
    return sides[..., 0] * sides[..., 1]
