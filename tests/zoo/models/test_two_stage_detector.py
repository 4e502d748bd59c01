"""Queries of a model of two stages are the most probable cells, those that are the highest around them first."""

import dataclasses

import numpy as np
import pytest
from keras import ops
from small_detector import CONFIG, make

from zoo.models.detector import Detector

TWO_STAGE = dataclasses.replace(CONFIG, two_stage=True, query_groups=1, num_queries=4)
LOW = -9.0


@pytest.fixture(scope="module")
def model():
    return make(TWO_STAGE)


@pytest.fixture
def inputs():
    images = np.random.default_rng(1).integers(0, 256, (3, 32, 48, 3), "uint8")
    return {"images": images, "sizes": np.array([[32, 48], [16, 48], [32, 24]], "int32")}


def best(model, classes):
    """Returns the numbers of the cells that become queries, read from boxes that are their numbers."""
    numbers = np.arange(24, dtype="float32")
    boxes = np.tile(numbers[None, :, None], (1, 1, 4))
    encoded = np.tile(numbers[None, :, None], (1, 1, 16))
    queries, logits = model._best_cells(*map(ops.convert_to_tensor, (encoded, classes.astype("float32"), boxes)))
    expected = model.cell_queries(ops.convert_to_tensor(encoded))
    found = np.asarray(logits)[0, :, 0].astype(int)
    np.testing.assert_allclose(np.asarray(queries)[0], np.asarray(expected)[0, found], atol=1e-5)
    return found.tolist()


def test_shapes(model, inputs):
    assert np.asarray(model(inputs)).shape == (3, 4, 7)
    assert np.asarray(model(inputs, training=True)).shape == (3, 2 * 4 + 24, 7)


def test_the_last_block_predicts(model, inputs):
    """In training, rows of blocks are in order, followed by the cells; the last block is what is predicted."""
    trained, found = np.asarray(model(inputs, training=True)), np.asarray(model(inputs))
    np.testing.assert_allclose(trained[:, 4:8], found, atol=1e-4)


def test_highest_cells_come_first(model):
    """A cell beside a higher one of its class comes after lower ones that stand alone; other classes do not count."""
    classes = np.full((4, 6, 2), LOW)
    classes[0, 0, 0], classes[0, 1, 0] = 3.0, 2.5  # Neighbours.
    classes[1, 1, 1] = 2.0  # A neighbour of both, of the other class.
    classes[3, 5, 0] = -1.0
    assert best(model, classes.reshape(1, 24, 2)) == [0, 7, 23, *best(model, classes.reshape(1, 24, 2))[3:]]
    few = Detector(dataclasses.replace(TWO_STAGE, num_queries=3))
    few.build()
    assert best(few, classes.reshape(1, 24, 2)) == [0, 7, 23]


def test_cells_of_padding_are_no_queries(model, inputs):
    memory, _, encoded = model.encode(inputs)
    classes, boxes = model.propose(encoded, inputs["sizes"])
    inside = np.asarray(classes)[1, :, 0].reshape(4, 6) > -1e3
    assert inside.tolist() == [[True] * 6] * 2 + [[False] * 6] * 2
    _, logits = model._best_cells(encoded, classes, boxes)
    allowed = np.asarray(boxes)[1][inside.ravel()]
    assert all(np.isclose(row, allowed, atol=1e-6).all(-1).any() for row in np.asarray(logits)[1])


def test_boxes_depart_from_their_cells():
    """At the start, the box of a cell is around its centre, and blocks do not change it."""
    model = Detector(TWO_STAGE)
    model.build()
    found = np.asarray(
        model({"images": np.zeros((1, 32, 48, 3), "uint8"), "sizes": np.array([[32, 48]])}, training=True)
    )
    cells = found[0, 8:, -4:]
    np.testing.assert_allclose(cells[7], [1.5 / 6, 1.5 / 4, 0.1, 0.1], atol=1e-5)
    assert len(np.unique(cells[:, :2].round(4), axis=0)) == 24
    for row in found[0, :8, -4:]:
        assert np.isclose(row, cells, atol=1e-5).all(-1).any()


def test_an_image_is_predicted_alone(model, inputs):
    found = np.asarray(model(inputs))
    one = np.asarray(model({name: array[1:2] for name, array in inputs.items()}))
    np.testing.assert_allclose(one, found[1:2], atol=1e-4)
