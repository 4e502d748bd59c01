"""Boxes move with what they surround, whatever is changed; every choice depends on seed, epoch and row."""

import numpy as np
import pytest

pytest.importorskip("PIL.Image", reason="Pillow is not installed")

from zoo.corpora.batching import BatchStream
from zoo.corpora.box_rows import GREY, BoxRows, ChangedBoxes, fit_to_canvas, padded_objects, placed
from zoo.corpora.labelled_corpus import NO_LABEL
from zoo.training_config import BoxAugmentConfig

HEIGHT, WIDTH = 48, 64


def surrounded(image):
    """Returns the box around the pixels that are white."""
    rows, columns = np.nonzero((image > 200).all(-1))
    return np.array([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])


@pytest.fixture
def corpus():
    """Returns 30 images with one white rectangle, and a second object that is outside of the picture's middle."""
    rng, images, pairs = np.random.default_rng(0), [], []
    for _ in range(30):
        image = np.full((HEIGHT, WIDTH, 3), 90, "uint8")
        top, left = rng.integers(12, 20, 2)
        height, width = rng.integers(8, 16, 2)
        image[top : top + height, left : left + width] = 255
        images.append(image)
        pairs.append((np.array([1]), np.array([[left, top, left + width, top + height]], "float32")))
    return BoxRows(np.stack(images), np.tile([[HEIGHT, WIDTH]], (30, 1)), *padded_objects(pairs))


def boxes_of(batch):
    """Returns boxes in pixels, (left, top, right, bottom)."""
    centres, sizes = batch["labels"][..., 1:3], batch["labels"][..., 3:]
    return np.concatenate([centres - sizes / 2, centres + sizes / 2], -1) * [WIDTH, HEIGHT, WIDTH, HEIGHT]


def test_batches_have_boxes_in_units_of_the_image(corpus):
    batch = corpus.gather(np.arange(5), [1], 2)
    assert batch["images"].shape == (7, HEIGHT, WIDTH, 3) and batch["labels"].shape == (7, 1, 5)
    assert (batch["labels"][5:] == NO_LABEL).all() and (batch["labels"][:5, :, 0] == 1).all()
    np.testing.assert_allclose(boxes_of(batch)[:5], corpus.boxes[:5], atol=1e-4)
    np.testing.assert_array_equal(batch["sizes"][:5], [[HEIGHT, WIDTH]] * 5)


@pytest.mark.parametrize(
    "changes",
    [dict(flip=True), dict(quarter_turns=True), dict(scale=0.5), dict(flip=True, quarter_turns=True, scale=0.4)],
)
def test_boxes_move_with_the_image(corpus, changes):
    epoch = ChangedBoxes(corpus, BoxAugmentConfig(**changes), 3).epoch(1)
    batch = epoch.gather(np.arange(30), [1], 0)
    checked = 0
    for image, label, box in zip(batch["images"], batch["labels"][:, 0], boxes_of(batch)[:, 0]):
        if label[0] == NO_LABEL:
            continue
        np.testing.assert_allclose(surrounded(image), box, atol=1.5)
        checked += 1
    assert checked > 20 and not np.array_equal(batch["images"], corpus.images)
    turned = (boxes_of(batch)[:, 0] - corpus.boxes[:, 0]).std()
    assert turned > 1


def test_colours_change_no_box(corpus):
    batch = ChangedBoxes(corpus, BoxAugmentConfig(colour=0.3), 3).epoch(0).gather(np.arange(30), [1], 0)
    np.testing.assert_allclose(boxes_of(batch), corpus.boxes, atol=1e-4)
    assert len({image.mean() for image in batch["images"]}) > 20


def test_objects_that_are_hardly_seen_are_left_out():
    """Twice as large, of which the left upper quarter is seen: half of the second box is inside, of the third 1/10."""
    image, canvas = np.zeros((20, 20, 3), "uint8"), (20, 20)
    boxes = np.array([[0, 0, 5, 5], [5, 0, 15, 5], [9, 0, 19, 5]], "float32")
    whole, moved, seen = placed(image, boxes, 2.0, (0, 0), canvas)
    np.testing.assert_allclose(moved, [[0, 0, 10, 10], [10, 0, 20, 10], [18, 0, 20, 10]])
    assert seen.tolist() == [True, True, False] and whole.shape == (20, 20, 3)
    small, moved, seen = placed(image, boxes, 0.5, (0.999, 0), canvas)
    np.testing.assert_allclose(moved[0], [0, 10, 2.5, 12.5])
    assert seen.all() and (small[:10] == GREY).all() and (small[10:, :10] == 0).all()


def test_remaining_objects_come_first(corpus):
    pairs = [(np.array([0, 1]), np.array([[0, 0, 2, 2], [28, 20, 36, 28]], "float32"))] * 30
    two = BoxRows(corpus.images, corpus.sizes, *padded_objects(pairs))
    labels = ChangedBoxes(two, BoxAugmentConfig(scale=1.0), 1).epoch(0).gather(np.arange(30), [1], 0)["labels"]
    alone = labels[(labels[:, :, 0] != NO_LABEL).sum(1) == 1]
    assert len(alone) and (alone[:, 0, 0] == 1).all() and (alone[:, 1] == [NO_LABEL, 0, 0, 0, 0]).all()


def test_changes_depend_on_seed_epoch_and_row(corpus):
    changes = BoxAugmentConfig(flip=True, quarter_turns=True, scale=0.5, colour=0.2)
    epoch = ChangedBoxes(corpus, changes, 3).epoch(1)
    whole, part = epoch.gather(np.arange(30), [1], 0), ChangedBoxes(corpus, changes, 3).epoch(1).gather([7, 3], [1], 0)
    np.testing.assert_array_equal(part["images"], whole["images"][[7, 3]])
    np.testing.assert_array_equal(part["labels"], whole["labels"][[7, 3]])
    for other in (ChangedBoxes(corpus, changes, 3).epoch(2), ChangedBoxes(corpus, changes, 4).epoch(1)):
        assert not np.array_equal(other.gather(np.arange(30), [1], 0)["images"], whole["images"])
    stream = BatchStream(ChangedBoxes(corpus, changes, 3), 8, seed=1)
    assert next(iter(stream))["images"].shape[1:] == (HEIGHT, WIDTH, 3)


@pytest.mark.parametrize(
    "size, fitted", [((100, 50), (48, 24)), ((10, 40), (16, 64)), ((48, 64), (48, 64)), ((1, 999), (1, 64))]
)
def test_images_keep_their_proportions(size, fitted):
    canvas, found = fit_to_canvas(np.zeros((*size, 3), "uint8"), HEIGHT, WIDTH)
    assert found == fitted and canvas.shape == (HEIGHT, WIDTH, 3)
    assert not canvas[: fitted[0], : fitted[1]].any()
    assert (canvas[fitted[0] :] == GREY).all() and (canvas[:, fitted[1] :] == GREY).all()
