"""The wide part of a classifier computes its equation, ignores padding, and depends on order for n > 1."""

import keras
import numpy as np
import pytest
from keras import ops

from zoo.config import NGRAM_BUCKETS, ClassifierConfig
from zoo.models.classifier import Classifier
from zoo.models.ngram_logits import NGramLogits

IDS = [[2, 30521, 7, 7, 9, 3], [2, 3], [2, 9, 3]]


def filled(longest, classes=3):
    layer = NGramLogits(longest, classes)
    layer.build()
    table = np.random.default_rng(0).normal(size=(NGRAM_BUCKETS, classes)).astype("float32")
    layer.table.embeddings.assign(table)
    return layer, table


def padded(rows, width):
    return np.array([row + [0] * (width - len(row)) for row in rows], "int32")


def row_of(gram):
    """Computes the number of an n-gram in base 1009, its length first, with Python's integers."""
    number = len(gram)
    for i in gram:
        number = number * 1009 + i
    return number % NGRAM_BUCKETS


@pytest.mark.parametrize("longest", [1, 2, 3])
def test_the_layer_computes_its_equation(longest):
    layer, table = filled(longest)
    expected = []
    for ids in IDS:
        before = [0] * (longest - 1) + ids
        ends = range(longest, len(before) + 1)
        rows = [row_of(before[end - n : end]) for end in ends for n in range(1, longest + 1)]
        expected.append(30 * table[rows].sum(0) / len(ids) ** 0.5)
    for width in (6, 11):
        np.testing.assert_allclose(ops.convert_to_numpy(layer(padded(IDS, width))), expected, rtol=1e-5, atol=1e-4)


def test_ids_of_any_vocabulary_fit_the_table():
    layer, _ = filled(3)
    ids = np.random.default_rng(1).integers(0, 250_000, (5, 40)).astype("int32")
    assert np.isfinite(ops.convert_to_numpy(layer(ids))).all()
    assert not ops.convert_to_numpy(layer(np.zeros((2, 4), "int32"))).any(), "padding says nothing"


def test_the_initial_layer_changes_nothing():
    sizes = {"vocabulary_size": 20, "num_layers": 1, "hidden_dim": 8, "intermediate_dim": 8, "num_heads": 2}
    keras.utils.set_random_seed(1)
    with_ngrams = Classifier(ClassifierConfig(**sizes, num_classes=3, ngrams=2))
    keras.utils.set_random_seed(1)
    without = Classifier(ClassifierConfig(**sizes, num_classes=3))
    inputs = {"token_ids": np.array([[2, 5, 6, 3]])}
    for model in (with_ngrams, without):
        model.build()
    without.set_weights([w for w in with_ngrams.get_weights() if w.shape != (NGRAM_BUCKETS, 3)])
    np.testing.assert_allclose(with_ngrams(inputs), without(inputs), atol=1e-6)
    with_ngrams.ngrams.table.embeddings.assign(np.random.default_rng(0).normal(size=(NGRAM_BUCKETS, 3)))
    assert np.abs(with_ngrams(inputs) - without(inputs)).max() > 1


def test_invalid_arguments_are_refused():
    with pytest.raises(ValueError, match="`ngrams` must be 0 or more. Received: ngrams=-1"):
        ClassifierConfig(ngrams=-1)
