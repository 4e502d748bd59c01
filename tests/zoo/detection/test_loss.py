"""Generalized IoU and the matching against brute force; the loss against the equations in NumPy; gradients."""

import itertools

import keras
import numpy as np
import pytest
from keras import ops
from small_detector import random_boxes

from zoo.detection.boxes import corners, generalized_iou
from zoo.detection.loss import SetPredictionLoss, match


def pixels_iou(one, other, size=400):
    """Computes IoU and GIoU by counting the pixels of boxes with whole coordinates."""
    grids = []
    for left, top, right, bottom in (one, other, (*np.minimum(one, other)[:2], *np.maximum(one, other)[2:])):
        grid = np.zeros((size, size), bool)
        grid[top:bottom, left:right] = True
        grids.append(grid)
    inside, union, around = (grids[0] & grids[1]).sum(), (grids[0] | grids[1]).sum(), grids[2].sum()
    return inside / union, inside / union - (around - union) / around


def test_generalized_iou_counts_pixels():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 200, (2, 40, 2))
    boxes = np.concatenate([first, first + rng.integers(1, 200, (2, 40, 2))], -1)
    found = np.asarray(generalized_iou(ops.convert_to_tensor(boxes[0], "float32"), ops.cast(boxes[1], "float32")))
    expected = [pixels_iou(one, other)[1] for one, other in zip(*boxes)]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert min(expected) < 0 < max(expected)


def test_corners():
    np.testing.assert_allclose(
        np.asarray(corners(ops.convert_to_tensor([[0.5, 0.4, 0.2, 0.6]]))), [[0.4, 0.1, 0.6, 0.7]]
    )


def test_matching_has_the_least_cost():
    """Of all ways to choose different predictions for the objects."""
    rng = np.random.default_rng(1)
    costs, counts = rng.normal(size=(3, 2, 5, 4)).astype("float32"), np.array([4, 2, 0])
    found = match(costs, counts)
    for row, count in enumerate(counts):
        for part in range(2):
            ways = itertools.permutations(range(5), int(count))
            least = min(ways, key=lambda way: sum(costs[row, part, q, m] for m, q in enumerate(way)))
            assert tuple(found[row, part, :count]) == least
    assert not found[2].any()


def test_matching_survives_what_is_not_finite():
    costs = np.full((1, 1, 3, 2), np.nan, "float32")
    costs[0, 0, 2, 0] = costs[0, 0, 1, 1] = 0
    assert match(costs, np.array([2])).tolist() == [[[2, 1]]]


def reference(y_true, y_pred, weight, no_object_weight=0.1):
    """Computes the loss of Carion et al. (2020), eq. 2, in NumPy, with the best of all matchings."""
    total = 0.0
    for known, sets, factor in zip(y_true, y_pred.reshape(len(y_pred), -1, 4, y_pred.shape[-1]), weight):
        known = known[known[:, 0] >= 0]
        for predicted in sets:
            logits, boxes = predicted[:, :-4], predicted[:, -4:]
            probabilities = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)

            def box_loss(m, q, known=known, boxes=boxes):
                one, other = (np.concatenate([b[:2] - b[2:] / 2, b[:2] + b[2:] / 2]) for b in (known[m, 1:], boxes[q]))
                sides = np.maximum(0, np.minimum(one, other)[2:] - np.maximum(one, other)[:2])
                areas = sum(np.prod(b[2:] - b[:2]) for b in (one, other))
                around = np.prod(np.maximum(one, other)[2:] - np.minimum(one, other)[:2])
                union = areas - sides.prod()
                giou = sides.prod() / union - (around - union) / around
                return 5 * np.abs(known[m, 1:] - boxes[q]).sum() + 2 * (1 - giou)

            def cost(way, known=known, probabilities=probabilities, box_loss=box_loss):
                return sum(box_loss(m, q) - probabilities[q, int(known[m, 0])] for m, q in enumerate(way))

            way = min(itertools.permutations(range(len(boxes)), len(known)), key=cost)
            loss = sum(box_loss(m, q) - np.log(probabilities[q, int(known[m, 0])]) for m, q in enumerate(way))
            loss -= no_object_weight * sum(np.log(row[-1]) for q, row in enumerate(probabilities) if q not in way)
            total += factor * loss / len(sets)
    return total


@pytest.fixture
def batch():
    rng = np.random.default_rng(2)
    y_true = np.zeros((3, 3, 5))
    y_true[..., 0] = -1
    for row, count in enumerate((3, 1, 0)):
        y_true[row, :count, 0] = rng.integers(0, 2, count)
        y_true[row, :count, 1:] = random_boxes(rng, count)
    y_pred = np.concatenate([rng.normal(size=(3, 8, 3)), random_boxes(rng, 3, 8)], -1)  # Two sets of four.
    return y_true.astype("float32"), y_pred.astype("float32"), np.array([1.0, 0.5, 2.0], "float32")


@pytest.mark.parametrize("no_object_weight", [0.1, 0.7])
def test_the_loss_is_that_of_the_paper(batch, no_object_weight):
    loss = SetPredictionLoss(4, no_object_weight=no_object_weight)
    expected = reference(*batch, no_object_weight)
    np.testing.assert_allclose(float(loss(*batch)), expected, rtol=1e-5)
    copy = SetPredictionLoss.from_config(loss.get_config())
    np.testing.assert_allclose(float(copy(*batch)), expected, rtol=1e-5)


def test_rows_of_padding_have_no_loss(batch):
    """An image without objects has one: what is found in it is wrong."""
    y_true, y_pred, _ = batch
    losses = np.asarray(SetPredictionLoss(4).call(y_true, y_pred))
    assert losses[2] > 0.1
    y_true[2] = -1
    np.testing.assert_allclose(np.asarray(SetPredictionLoss(4).call(y_true, y_pred)), [*losses[:2], 0], rtol=1e-6)


def test_the_order_of_objects_and_predictions_changes_nothing(batch):
    y_true, y_pred, weight = batch
    loss = SetPredictionLoss(4)
    expected = float(loss(*batch))
    np.testing.assert_allclose(float(loss(y_true, y_pred[:, [2, 0, 3, 1, 6, 4, 7, 5]], weight)), expected, rtol=1e-6)
    y_true[0] = y_true[0, [1, 2, 0]]
    np.testing.assert_allclose(float(loss(y_true, y_pred, weight)), expected, rtol=1e-6)


def test_gradients_are_differences(batch):
    """The matching is constant, so the gradient is that of the loss wherever the matching does not change."""
    if keras.backend.backend() != "tensorflow":
        pytest.skip("takes gradients on TensorFlow")
    import tensorflow as tf

    y_true, y_pred, weight = batch
    loss, rng = SetPredictionLoss(4), np.random.default_rng(3)

    @tf.function
    def run(predicted):
        with tf.GradientTape() as tape:
            tape.watch(predicted)
            value = loss(y_true, predicted, weight)
        return value, tape.gradient(value, predicted)

    _, gradient = run(tf.constant(y_pred))
    for _ in range(5):
        step = 1e-3 * rng.normal(size=y_pred.shape).astype("float32")
        up, down = (float(run(tf.constant(y_pred + sign * step))[0]) for sign in (1, -1))
        assert (up - down) / 2 == pytest.approx(float((gradient.numpy() * step).sum()), rel=1e-2, abs=1e-3)
