"""Means over the real steps or cells of a batch, of all replicas."""

from typing import Any

from keras import ops

from keras_transformer.ops import masks
from keras_transformer.ops.replicas import sum_over_replicas


def real_and_count(x: Any, mask: Any) -> tuple[Any, Any]:
    """Returns 1 at real places of `[..., D]` and 0 at others, `[..., 1]`, and how many all replicas have.

    Args:
        x: Float `[..., D]`.
        mask: Boolean `[...]`, True at real places; None if all are.

    Raises:
        ValueError: If the mask has the wrong shape.
    """
    real = ops.ones_like(x[..., :1])
    if mask is not None:
        masks.check_shape("mask", mask, tuple(x.shape[:-1]))
        real = real * ops.cast(mask, x.dtype)[..., None]
    return real, sum_over_replicas(ops.sum(real))


def mean_over_replicas(values: Any, real: Any, count: Any) -> Any:
    """Returns the mean `[D]` of `[..., D]` over the `count` places where `real` `[..., 1]` is 1; None is everywhere."""
    values = values if real is None else real * values
    total = ops.sum(values, axis=tuple(range(len(values.shape) - 1)))
    return sum_over_replicas(total) / ops.maximum(count, 1)
