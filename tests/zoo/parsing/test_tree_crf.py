"""Tests of the conditional random field over trees against the enumeration of all trees."""

import functools
import itertools

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.ops.gradients import vector_jacobian_products
from zoo.corpora.labelled_corpus import NO_LABEL
from zoo.parsing.chart import span_number
from zoo.parsing.tree_crf import TreeCrossEntropy, constituent_probabilities, log_partition


@functools.cache
def trees(first, last):
    """Returns all sets of constituents over some words that do not cross, the whole among them or not."""
    spans = [(i, j) for j in range(first, last + 1) for i in range(first, j)]
    chosen = itertools.chain.from_iterable(itertools.combinations(spans, n) for n in range(len(spans) + 1))
    return [tree for tree in chosen if not any(crossing(a, b) for a, b in itertools.combinations(tree, 2))]


def crossing(one, other):
    return one[0] < other[0] < one[1] < other[1] or other[0] < one[0] < other[1] < one[1]


def enumerated(scores, words):
    """Returns the logarithm of the sum over all trees, and the probability of each span, of one sentence."""
    numbers = [[span_number(*np.array(span)) for span in tree] for tree in trees(0, words)]
    weights = np.exp([scores[spans].sum() for spans in map(np.array, numbers, itertools.repeat(int))])
    probabilities = np.zeros_like(scores)
    for spans, weight in zip(numbers, weights / weights.sum()):
        probabilities[spans] += weight
    return np.log(weights.sum()), probabilities


LENGTHS = np.array([4, 1, 3, 0, 2], "int32")


def some_scores(places=6):
    return np.random.default_rng(1).normal(0, 2, (len(LENGTHS), places * (places - 1) // 2)).astype("float32")


def test_log_partition_and_probabilities_equal_the_enumeration_of_all_trees():
    scores = some_scores()
    expected = [enumerated(row.astype("float64"), length) for row, length in zip(scores, LENGTHS)]
    total = ops.convert_to_numpy(log_partition(ops.convert_to_tensor(scores), ops.convert_to_tensor(LENGTHS)))
    np.testing.assert_allclose(total, [each for each, _ in expected], rtol=1e-5, atol=1e-6)
    found = constituent_probabilities(ops.convert_to_tensor(scores), ops.convert_to_tensor(LENGTHS))
    np.testing.assert_allclose(ops.convert_to_numpy(found), [each for _, each in expected], atol=1e-5)


def test_gradient_is_the_probability_of_each_constituent():
    scores, upstream = some_scores(), np.array([1, 2, -1, 3, 0.5], "float32")

    def function(inputs):
        return [log_partition(inputs[0], ops.convert_to_tensor(LENGTHS))]

    (gradient,) = next(iter(vector_jacobian_products(function, [ops.convert_to_tensor(scores)], [[upstream]])))
    expected = [enumerated(row.astype("float64"), length)[1] for row, length in zip(scores, LENGTHS)]
    np.testing.assert_allclose(gradient, upstream[:, None] * expected, atol=2e-5)


def test_large_scores_stay_finite():
    scores = ops.convert_to_tensor(some_scores() * 1e4)
    words = ops.convert_to_tensor(LENGTHS)
    assert np.isfinite(ops.convert_to_numpy(log_partition(scores, words))).all()
    found = ops.convert_to_numpy(constituent_probabilities(scores, words))
    assert (found > -1e-3).all() and (found < 1 + 1e-3).all()


def chart_loss(labels, logits, loss):
    return float(ops.convert_to_numpy(loss(ops.convert_to_tensor(labels), ops.convert_to_tensor(logits))))


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_loss_is_the_improbability_of_trees_and_tags(reduction):
    rng = np.random.default_rng(2)
    logits = rng.normal(size=(2, 10, 3)).astype("float32")  # 4 boundaries: 4 tags and 6 spans.
    labels = np.full((2, 10), NO_LABEL, "int32")
    labels[0, :3], labels[0, 4:] = [2, 0, 1], [0, 0, 2, 0, 0, 1]  # The tree ((0, 3): 1, (1, 2)... over 3 words.
    labels[1, :2], labels[1, 4:7] = [1, 1], [2, 0, 0]  # A constituent of one word, of two.
    expected = 0.0
    for row, words in zip(range(2), (3, 2)):
        tags = logits[row, :words].astype("float64")
        expected += (np.log(np.exp(tags).sum(-1)) - tags[np.arange(words), labels[row, :words]]).sum()
        spans = logits[row, 4:].astype("float64")
        relative = np.log(np.exp(spans[:, 1:]).sum(-1)) - spans[:, 0]
        real = labels[row, 4:] > 0
        gold = (spans[real, labels[row, 4:][real]] - spans[real, 0]).sum()
        expected += enumerated(relative, words)[0] - gold
    if reduction == "mean":
        expected /= (labels != NO_LABEL).sum()
    loss = TreeCrossEntropy(pad_id=NO_LABEL, reduction=reduction)
    assert chart_loss(labels, logits, loss) == pytest.approx(expected, rel=1e-5)


def test_loss_in_a_compiled_model_falls():
    rng = np.random.default_rng(3)
    labels = np.array([[0, 1, 2, NO_LABEL, 0, 0, 2, 0, 0, 1]] * 4, "int32")
    model = keras.Sequential([keras.Input((10, 5)), keras.layers.Dense(3)])
    model.compile("adam", TreeCrossEntropy(pad_id=NO_LABEL))
    history = model.fit(rng.normal(size=(4, 10, 5)).astype("float32"), labels, epochs=3, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]


def test_options_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="`label_smoothing` must be 0"):
        TreeCrossEntropy(label_smoothing=0.1, pad_id=NO_LABEL)
    with pytest.raises(ValueError, match="`pad_id` negative"):
        TreeCrossEntropy(pad_id=0)


def test_loss_survives_serialization():
    loss = TreeCrossEntropy(pad_id=NO_LABEL, reduction="sum")
    assert keras.losses.deserialize(keras.losses.serialize(loss)).get_config() == loss.get_config()
