"""The loss of cells against the equations of Zhou et al. (2019), in NumPy."""

import numpy as np
import pytest
from keras import ops
from small_detector import random_boxes

from zoo.detection.cell_loss import cell_heat, heat_loss, nearest_objects
from zoo.detection.loss import SetPredictionLoss

GRID, CELLS = (3, 5), (2.5, 4.75)


@pytest.fixture
def y_true():
    rng = np.random.default_rng(0)
    found = np.zeros((3, 3, 5))
    found[..., 0] = -1
    for row, count in enumerate((3, 1, 0)):
        found[row, :count, 0] = rng.integers(0, 2, count)
        found[row, :count, 1:] = random_boxes(rng, count)
    return found.astype("float32")


@pytest.fixture
def cells():
    rng = np.random.default_rng(1)
    logits = np.concatenate([rng.normal(size=(3, 15, 2)), np.zeros((3, 15, 1))], -1)
    return np.concatenate([logits, random_boxes(rng, 3, 15)], -1).astype("float32")


def gaussian(x, y, width, height):
    """Returns the heat of an object on the cells, in NumPy."""
    j_m, i_m = int(x * CELLS[1]), int(y * CELLS[0])
    s_w, s_h = max(0.3, width * CELLS[1] / 6), max(0.3, height * CELLS[0] / 6)
    rows = [[((i - i_m) / s_h) ** 2 + ((j - j_m) / s_w) ** 2 for j in range(GRID[1])] for i in range(GRID[0])]
    return np.exp(-np.array(rows) / 2)


def test_heat(y_true):
    found = np.asarray(cell_heat(ops.convert_to_tensor(y_true), GRID, CELLS)).reshape(3, 3, *GRID)
    for row, objects in zip(found, y_true):
        for heat, (label, *box) in zip(row, objects):
            np.testing.assert_allclose(heat, gaussian(*box) if label >= 0 else np.zeros(GRID), atol=1e-5)
            assert (heat > 0.9999).sum() == (label >= 0)


def test_centres_at_the_border_are_in_the_last_cell():
    edge = ops.convert_to_tensor([[[0.0, 1.0, 1.0, 0.1, 0.1]]])
    found = np.asarray(cell_heat(edge, (2, 4), (2.0, 4.0))).reshape(2, 4)
    assert np.unravel_index(found.argmax(), found.shape) == (1, 3) and found.max() > 0.9999


def reference(y_true, cells):
    """Computes the loss of the cells of each row in NumPy, one cell after the other."""
    losses = []
    for objects, predicted in zip(y_true, cells):
        objects = objects[objects[:, 0] >= 0]
        heats = [gaussian(*box).ravel() for _, *box in objects]
        loss, boxes, total = 0.0, 0.0, 0.0
        for t, (*logits, _, x, y, w, h) in enumerate(predicted):
            for c, logit in enumerate(logits):
                p = 1 / (1 + np.exp(-logit))
                near = max((heat[t] for heat, item in zip(heats, objects) if item[0] == c), default=0.0)
                loss -= (1 - p) ** 2 * np.log(p) if near > 0.9999 else (1 - near) ** 4 * p**2 * np.log(1 - p)
            nearest = max(range(len(heats)), key=lambda m: heats[m][t], default=None)
            if nearest is None or heats[nearest][t] < 0.3:
                continue
            ours, real = np.array([x, y, w, h]), objects[nearest, 1:]
            one, other = (np.concatenate([b[:2] - b[2:] / 2, b[:2] + b[2:] / 2]) for b in (ours, real))
            sides = np.maximum(0, np.minimum(one, other)[2:] - np.maximum(one, other)[:2])
            around = np.prod(np.maximum(one, other)[2:] - np.minimum(one, other)[:2])
            union = w * h + real[2] * real[3] - sides.prod()
            giou = sides.prod() / union - (around - union) / around
            boxes += heats[nearest][t] * (5 * np.abs(ours - real).sum() + 2 * (1 - giou))
            total += heats[nearest][t]
        losses.append(loss + (boxes * len(objects) / total if total else 0.0))
    return losses


def test_the_loss_is_added_to_that_of_the_sets(y_true, cells):
    rng = np.random.default_rng(2)
    sets = np.concatenate([rng.normal(size=(3, 8, 3)), random_boxes(rng, 3, 8)], -1).astype("float32")
    expected = reference(y_true, cells) + np.asarray(SetPredictionLoss(4).call(y_true, sets))
    loss = SetPredictionLoss(4, GRID, CELLS)
    found = np.asarray(loss.call(y_true, np.concatenate([sets, cells], 1)))
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    copy = SetPredictionLoss.from_config(loss.get_config())
    np.testing.assert_allclose(np.asarray(copy.call(y_true, np.concatenate([sets, cells], 1))), found, rtol=1e-6)
    one_set = np.asarray(loss.call(y_true, sets[:, :4]))  # As in evaluation.
    np.testing.assert_allclose(one_set, np.asarray(SetPredictionLoss(4).call(y_true, sets[:, :4])), rtol=1e-6)


def test_cells_of_padding_cost_nothing(y_true, cells):
    heat = np.zeros((3, 3, 15), "float32")
    logits = np.full((3, 15, 2), -1e4, "float32")
    assert not np.asarray(heat_loss(ops.convert_to_tensor(logits), y_true[..., :1], ops.convert_to_tensor(heat))).any()


def test_weights_of_boxes_sum_to_the_number_of_objects(y_true):
    _, weights = nearest_objects(cell_heat(ops.convert_to_tensor(y_true), GRID, CELLS))
    np.testing.assert_allclose(np.asarray(weights).sum(1), [3, 1, 0], rtol=1e-5)
