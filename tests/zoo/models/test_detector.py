"""Predictions depend on the image alone, not on other images, padding, groups of queries or the order of queries."""

import dataclasses

import keras
import numpy as np
import pytest
from keras import ops
from small_detector import CONFIG, make

from zoo.models.detector import Detector
from zoo.models.host_calls import call_on_host


@pytest.fixture(scope="module", params=[1, 2])
def model(request):
    return make(dataclasses.replace(CONFIG, num_levels=request.param))


@pytest.fixture
def inputs():
    images = np.random.default_rng(1).integers(0, 256, (3, 32, 48, 3), "uint8")
    return {"images": images, "sizes": np.array([[32, 48], [16, 48], [32, 24]], "int32")}


def decoded(model, memory, mask):
    """Returns what the last block predicts with the learned queries."""
    queries = model._learned_queries(len(memory), CONFIG.num_queries)
    return np.asarray(model.decode(*queries, ops.convert_to_tensor(memory), ops.convert_to_tensor(mask))[-1])


def test_shapes_and_units(model, inputs):
    found = np.asarray(model(inputs))
    assert found.shape == (3, 5, 7) and found.dtype == np.float32
    assert (found[..., -4:] > 0).all() and (found[..., -4:] < 1).all()
    trained = np.asarray(model(inputs, training=True))
    assert trained.shape == (3, 6 * 5, 7)


def test_the_first_group_predicts(model, inputs):
    """In training, groups do not see each other: the first one after the last block is what is predicted."""
    trained, found = np.asarray(model(inputs, training=True)).reshape(3, 6, 5, 7), np.asarray(model(inputs))
    np.testing.assert_allclose(trained[:, 3], found, atol=1e-4)
    assert np.abs(trained[:, 4] - found).max() > 1e-2


def test_groups_share_all_but_queries(model, inputs):
    """The same queries find the same in each group."""
    copy = make(model.config)
    for weight in (copy.queries, copy.query_boxes):
        weight.assign(np.tile(np.asarray(weight)[:5], (3, 1)))
    trained = np.asarray(copy(inputs, training=True)).reshape(3, 2, 3, 5, 7)
    np.testing.assert_allclose(trained[:, :, 1], trained[:, :, 0], atol=1e-4)


def test_an_image_is_predicted_alone(model, inputs):
    found = np.asarray(model(inputs))
    one = np.asarray(model({name: array[1:2] for name, array in inputs.items()}))
    np.testing.assert_allclose(one, found[1:2], atol=1e-4)


def test_cells_of_padding_are_not_attended_to(model):
    memory = np.random.default_rng(2).normal(size=(1, 24, 16)).astype("float32")
    mask = np.asarray(model._mask(ops.convert_to_tensor([[16, 48]]), 8))
    assert mask.reshape(4, 6).tolist() == [[True] * 6] * 2 + [[False] * 6] * 2
    one = decoded(model, memory, mask)
    memory[:, ~mask[0]] = 9
    np.testing.assert_allclose(one, decoded(model, memory, mask), atol=1e-5)
    memory[:, mask[0]] = 9
    assert np.abs(decoded(model, memory, mask) - one).max() > 0.1


@pytest.mark.parametrize("size", [(32, 48), (20, 36)])
def test_centres_of_boxes_are_encoded_as_cells(size):
    """A box around the middle of a cell has the position of that cell, on each feature map."""
    model = Detector(dataclasses.replace(CONFIG, num_levels=2, image_rows=size[0], image_columns=size[1]))
    for stride in (4, 8):
        rows, columns = model.config.grid(stride)
        cells = [
            ((j + 0.5) * stride / size[1], (i + 0.5) * stride / size[0]) for i in range(rows) for j in range(columns)
        ]
        boxes = np.array([(*cell, 0.1, 0.1) for cell in cells], "float32")
        encoded = np.asarray(model._encode_boxes(ops.convert_to_tensor(boxes[None])))[0]
        positions = np.asarray(model._positions(stride))
        np.testing.assert_allclose(encoded[:, :16], positions, atol=1e-5)
        assert len(np.unique(positions.round(4), axis=0)) == rows * columns


def test_finer_feature_maps_are_read():
    """The decoder reads the cells of both maps; what the encoder makes depends on the last one alone."""
    model = make(dataclasses.replace(CONFIG, num_levels=2))
    image = np.random.default_rng(3).integers(0, 256, (1, 32, 48, 3), "uint8")
    memory, mask, encoded = model.encode({"images": image, "sizes": np.array([[32, 48]], "int32")})
    assert memory.shape == (1, 8 * 12 + 4 * 6, 16) and mask.shape == (1, 120) and encoded.shape == (1, 4 * 6, 16)
    changed = np.array(memory)
    changed[:, :96] += 1
    assert np.abs(decoded(model, changed, mask) - decoded(model, memory, mask)).max() > 1e-3


def test_queries_are_a_set(model, inputs):
    """Their order decides that of the predictions, and nothing else: there is no causal mask."""
    found, order = np.asarray(model(inputs)), [3, 1, 4, 0, 2]
    copy = make(model.config)
    for weight in (copy.queries, copy.query_boxes):
        values = np.asarray(weight)
        weight.assign(np.concatenate([values[:5][order], values[5:]]))
    np.testing.assert_allclose(np.asarray(copy(inputs)), found[:, order], atol=1e-4)


def test_boxes_depart_from_those_of_the_queries():
    """The last layer of the boxes is zero at the start, so that the first boxes are those of the queries, all apart."""
    model = Detector(CONFIG)
    model.build()
    found = np.asarray(model({"images": np.zeros((1, 32, 48, 3), "uint8"), "sizes": np.array([[32, 48]])}))
    boxes = found[0, :, -4:]
    np.testing.assert_allclose(boxes, 1 / (1 + np.exp(-np.asarray(model.query_boxes)[:5])), atol=1e-5)
    apart = np.abs(boxes[:, None, :2] - boxes[None, :, :2]).max(-1) + np.eye(5)
    assert apart.min() > 0.1


@pytest.mark.parametrize(
    "change",
    [
        dict(hidden_dim=18),
        dict(normalize_first=False),
        dict(no_object_weight=0.0),
        dict(num_levels=3),
        dict(two_stage=True),
        dict(two_stage=True, query_groups=1, num_queries=25),
    ],
)
def test_wrong_sizes_are_refused(change):
    with pytest.raises(ValueError, match="Received"):
        dataclasses.replace(CONFIG, **change)


def test_host_calls_in_compiled_functions():
    """NumPy's result for the values of this call, not for those of the first one."""

    class Doubled(keras.layers.Layer):
        def call(self, x):
            return call_on_host(lambda array: 2 * array, [x], ops.shape(x), "int32")

    inputs = keras.Input((3,), dtype="int32")
    model = keras.Model(inputs, Doubled()(inputs)) if keras.backend.backend() == "tensorflow" else None
    for start in (0, 5):
        x = np.arange(start, start + 6, dtype="int32").reshape(2, 3)
        np.testing.assert_array_equal(np.asarray(Doubled()(x)), 2 * x)
        if model is not None:
            np.testing.assert_array_equal(model.predict(x, verbose=0), 2 * x)
