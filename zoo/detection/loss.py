"""Matching of predicted and real objects, and the loss of detectors."""

import math

import keras
import numpy as np
from keras import ops

from zoo.detection.boxes import corners, generalized_iou
from zoo.detection.cell_loss import cell_heat, heat_loss, nearest_objects
from zoo.models.host_calls import call_on_host

_WORST = 1e6  # Cost in place of those that are not finite.


def match(costs: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Finds the predictions for real objects that have the least sum of costs: the Hungarian algorithm.

    Args:
        costs: Float `[B, S, Q, M]`, of Q predictions in each of S sets for M objects.
        counts: Integers `[B]`: the first so many of the M objects are real.

    Returns:
        Int32 `[B, S, M]`, the number of the prediction for each object; 0 for those that are not real.
    """
    from scipy.optimize import linear_sum_assignment

    batch, sets, _, objects = costs.shape
    found = np.zeros((batch, sets, objects), "int32")
    costs = np.nan_to_num(costs, nan=_WORST, posinf=_WORST, neginf=-_WORST)
    for rows, part, count in zip(found, costs, counts):
        for row, cost in zip(rows, part):
            real, predicted = linear_sum_assignment(cost[:, :count].T)
            row[real] = predicted
    return found


@keras.saving.register_keras_serializable("zoo")
class SetPredictionLoss(keras.losses.Loss):
    """Loss of a set of objects, each of which one prediction is matched with (Carion et al. 2020, eq. 1 and 2).

        match = argmin sum_m -p(class_m) + L(box_m)
        loss = sum_q w CrossEntropy(class_q) + sum_m L(box_m),  L = 5 L1 + 2 (1 - GIoU)

    A prediction without an object has the class "no object", whose weight w is below 1. Sets are predicted after each
    block of the decoder ("auxiliary losses") and by groups of queries; each is matched alone, and the loss is their
    mean. It is a sum over the rows of a batch: the weights of the rows include the division by the number of objects.
    The cells of a model of two stages are not matched: those near the centre of an object have to find it (see
    `zoo.detection.cell_loss`).
    Axes: B batch, S sets, Q predictions, M objects, C classes, T cells.

    Args:
        num_queries: Q.
        grid, cells: Rows and columns of the feature map whose cells predict, and of cells in an image; see `cell_heat`.
        no_object_weight: w.
        box_weight, overlap_weight: Factors of L1 and of GIoU.

    Call arguments:
        y_true: Float `[B, M, 5]`: number of the class, then (centre x, centre y, width, height). After the last object,
            the class is -1 and the box 0; rows of padding, whose loss is 0, have boxes of -1.
        y_pred: Float `[B, S * Q, C + 5]`: logits of the classes and of "no object", then such a box. T rows more are
            those of the cells.
        sample_weight: Optional weights `[B]` or `[B, 1]`.
    """

    def __init__(
        self,
        num_queries: int,
        grid: tuple[int, int] | None = None,
        cells: tuple[float, float] | None = None,
        no_object_weight: float = 0.1,
        box_weight: float = 5.0,
        overlap_weight: float = 2.0,
        name: str = "set_prediction_loss",
        **kwargs,
    ):
        super().__init__(name=name, **{**kwargs, "reduction": "sum"})
        self.num_queries, self.grid, self.cells = num_queries, grid and tuple(grid), cells and tuple(cells)
        self.no_object_weight, self.box_weight, self.overlap_weight = no_object_weight, box_weight, overlap_weight

    def __call__(self, y_true, y_pred, sample_weight=None):
        losses = self.call(y_true, y_pred)
        if sample_weight is not None:
            losses = losses * ops.reshape(ops.cast(sample_weight, losses.dtype), (-1,))
        return ops.sum(losses)

    def call(self, y_true, y_pred):
        """Computes the loss of each row, float32 `[B]`."""
        y_true, y_pred = ops.cast(y_true, "float32"), ops.cast(y_pred, "float32")
        count = y_pred.shape[1] if self.grid is None else max(y_pred.shape[1] - math.prod(self.grid), self.num_queries)
        sets = ops.reshape(y_pred[:, :count], (-1, count // self.num_queries, self.num_queries, y_pred.shape[-1]))
        losses = self._of_sets(y_true, sets)
        if count < y_pred.shape[1]:
            losses = losses + self._of_cells(y_true, y_pred[:, count:])
        return ops.where(y_true[:, 0, 1] < 0, 0.0, losses)

    def _of_cells(self, y_true, y_pred):
        heat = cell_heat(y_true, self.grid, self.cells)
        nearest, weights = nearest_objects(heat)
        boxes = ops.take_along_axis(y_true[..., 1:], nearest[..., None], axis=1)
        of_boxes = ops.sum(weights * self._of_boxes(y_pred[..., -4:], boxes), axis=1)
        return heat_loss(y_pred[..., :-5], y_true, heat) + of_boxes

    def _of_boxes(self, boxes, real):
        apart = ops.sum(ops.abs(boxes - real), axis=-1)
        overlap = generalized_iou(corners(boxes), corners(real))
        return self.box_weight * apart + self.overlap_weight * (1 - overlap)

    def _of_sets(self, y_true, y_pred):
        logits, boxes = y_pred[..., :-4], y_pred[..., -4:]
        classes, real_boxes = ops.cast(y_true[..., 0], "int32"), y_true[:, None, :, 1:]
        real = ops.cast(classes >= 0, "float32")
        matched = self.matched(y_true, y_pred)
        chosen = ops.take_along_axis(boxes, matched[..., None], axis=2)
        of_boxes = self._of_boxes(chosen, real_boxes)

        log_probabilities = ops.log_softmax(logits)
        one_hot = ops.one_hot(ops.maximum(classes, 0), ops.shape(logits)[-1])[:, None]
        of_objects = ops.take_along_axis(log_probabilities, matched[..., None], axis=2)
        right = ops.sum(of_objects * one_hot, axis=-1)
        nothing = log_probabilities[..., -1]
        nothing_there = ops.take_along_axis(nothing, matched, axis=2)
        # All predictions count as "no object", without those that are matched.
        of_real = of_boxes - right + self.no_object_weight * nothing_there
        total = ops.sum(of_real * real[:, None], axis=-1) - self.no_object_weight * ops.sum(nothing, axis=-1)
        return ops.mean(total, axis=-1)

    def matched(self, y_true, y_pred):
        """Returns the number of the prediction for each object, int32 `[B, S, M]`; see `match`."""
        logits, boxes = y_pred[..., :-4], y_pred[..., None, -4:]
        classes, real_boxes = ops.cast(y_true[..., 0], "int32"), y_true[:, None, None, :, 1:]
        one_hot = ops.one_hot(ops.maximum(classes, 0), ops.shape(logits)[-1])
        likely = ops.einsum("bsqc,bmc->bsqm", ops.softmax(logits), ops.cast(one_hot, "float32"))
        apart = ops.sum(ops.abs(boxes - real_boxes), axis=-1)
        overlap = generalized_iou(corners(boxes), corners(real_boxes))
        costs = self.box_weight * apart - self.overlap_weight * overlap - likely
        counts = ops.sum(ops.cast(classes >= 0, "int32"), axis=1)
        batch, sets, _, objects = ops.shape(costs)
        return call_on_host(match, [costs, counts], (batch, sets, objects))

    def get_config(self):
        names = "num_queries", "grid", "cells", "no_object_weight", "box_weight", "overlap_weight"
        return {"name": self.name, **{name: getattr(self, name) for name in names}}
