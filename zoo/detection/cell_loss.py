"""Loss of the cells of a feature map, each of which predicts whether the centre of an object is in it."""

from typing import Any

import numpy as np
from keras import ops

_LEAST_WIDTH = 0.3  # Cells.
_LEAST_NEAR = 0.3


def cell_heat(y_true: Any, grid: tuple[int, int], cells: tuple[float, float]) -> Any:
    """Computes how near each cell is to the centre of each object (Zhou et al. 2019, "Objects as points", section 3).

        heat = exp(-((i - i_m)^2 / s_h^2 + (j - j_m)^2 / s_w^2) / 2),  s = max(0.3, side / 6)

    i_m and j_m are the row and the column of the cell in which the centre is. So heat is 1 there and nowhere else.

    Args:
        y_true: Float `[B, M, 5]`, as for `SetPredictionLoss`.
        grid: Rows and columns of the feature map; T is their product.
        cells: Rows and columns of cells in an image: those of `grid` before they are rounded up.

    Returns:
        Float32 `[B, M, T]`, 0 after the last object.
    """
    down, across = (ops.convert_to_tensor(each, "float32") for each in np.divmod(np.arange(grid[0] * grid[1]), grid[1]))
    total = 0.0
    for numbers, size, count, axis in ((across, grid[1], cells[1], 1), (down, grid[0], cells[0], 2)):
        centres = ops.clip(ops.floor(y_true[..., axis] * count), 0, size - 1)
        widths = ops.maximum(y_true[..., axis + 2] * count / 6, _LEAST_WIDTH)
        total = total + ((numbers - centres[..., None]) / widths[..., None]) ** 2
    return ops.where(y_true[..., :1] >= 0, ops.exp(-total / 2), 0.0)


def heat_loss(logits: Any, y_true: Any, heat: Any) -> Any:
    """Computes the penalty-reduced focal loss of Zhou et al. (2019), equation 1, of each row, float32 `[B]`.

        loss = -sum (1 - p)^2 log p  where the heat h of the class is 1,  -sum (1 - h)^4 p^2 log(1 - p)  elsewhere

    Args:
        logits: Float32 `[B, T, C]`.
        y_true: Float `[B, M, 5]`.
        heat: Float `[B, M, T]` of `cell_heat`.
    """
    classes = ops.one_hot(ops.cast(ops.maximum(y_true[..., 0], 0), "int32"), logits.shape[-1])
    by_class = ops.max(heat[..., None] * classes[:, :, None, :], axis=1)
    probability = ops.sigmoid(logits)
    right = (1 - probability) ** 2 * ops.log_sigmoid(logits)
    wrong = (1 - by_class) ** 4 * probability**2 * ops.log_sigmoid(-logits)
    return -ops.sum(ops.where(by_class > 0.9999, right, wrong), axis=(1, 2))


def nearest_objects(heat: Any) -> tuple[Any, Any]:
    """Returns which object each cell is nearest to, int32 `[B, T]`, and its weight in the loss of boxes, `[B, T]`.

    Weights are heat, 0 below 0.3, and sum to the number of objects that have any.
    """
    highest = ops.max(heat, axis=1)
    weights = ops.where(highest >= _LEAST_NEAR, highest, 0.0)
    count = ops.sum(ops.cast(ops.max(heat, axis=2) > 0, "float32"), axis=1, keepdims=True)
    weights = weights * count / ops.maximum(ops.sum(weights, axis=1, keepdims=True), 1e-6)
    return ops.argmax(heat, axis=1), weights
