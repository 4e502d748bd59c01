"""Searches that XLA compiles for a few sizes of a SavedModel give what the plain search gives."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.decoding import Hypotheses
from zoo.tf.compiled_search import compiled_search


def reversing(called):
    """Returns a search whose hypotheses are the source, reversed and doubled; it notes the sizes of its calls."""

    def search(source, max_lengths, each_step=None):
        called.append((*source.shape, each_step is not None))
        width = tf.shape(source)[1] + 3
        ids = tf.pad(tf.stack([source[:, ::-1], source * 2], 1), ((0, 0), (0, 0), (0, 3)))
        scores = tf.cast(tf.reduce_sum(ids, -1), tf.float32)
        ids = tf.where(tf.range(width) < max_lengths[:, None, None], ids, 0)
        return Hypotheses(ids, scores, scores / 2, tf.math.count_nonzero(ids, -1, dtype=tf.int32))

    return search


@pytest.mark.parametrize(("rows", "width"), [(1, 1), (1, 16), (1, 17), (2, 5), (3, 64), (4, 65), (5, 3)])
def test_batches_are_padded_to_the_next_size(rows, width):
    called, checked = [], []
    run = compiled_search(reversing(called), [1, 4, 4], (16, 32, 64))
    source = np.random.default_rng(1).integers(4, 9, (rows, width)).astype("int32")

    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None,), tf.int32)])
    def service(source, max_lengths):
        return run(source, max_lengths, each_step=lambda: checked.append(1))

    found = service(source, np.full(rows, width + 3, "int32"))
    sizes = {(r, w, False) for r in (1, 4) for w in (16, 32, 64)}
    assert {*called} == {*sizes, (None, None, True)} and len(called) == 7, "one program for each size, one plain graph"
    size = next(((r, w) for w in (16, 32, 64) for r in (1, 4) if rows <= r and width <= w), (rows, width))
    ids = np.pad(source, ((0, size[0] - rows), (0, size[1] - width)))
    expected = np.stack([ids[:, ::-1], ids * 2], 1)[:rows]
    np.testing.assert_array_equal(found.ids, np.pad(expected, ((0, 0), (0, 0), (0, 3)))[:, :, : width + 3])
    np.testing.assert_array_equal(found.scores, expected.sum(-1))


@pytest.mark.slow
@pytest.mark.long
def test_exports_with_compiled_searches_translate_the_same(trained, corpus, tmp_path):
    card = trained.translator.export(tmp_path / "served", num_return=2, compiled_for=[2])
    assert card["compiled_for"] == [2]
    translate = tf.saved_model.load(str(tmp_path / "served")).signatures["serving_default"]
    sources = [source for source, _ in corpus.test[:9]]
    expected = [[found.text for found in each] for each in trained.translator.n_best(sources, 2)]
    for size in (1, 2, 9):
        parts = [translate(tf.constant(sources[i : i + size]))["n_best"].numpy() for i in range(0, 9, size)]
        assert [[text.decode() for text in row] for row in np.concatenate(parts)] == expected


def test_impossible_options_are_refused(trained, tmp_path):
    for options in ({"compiled_for": [0]}, {"compiled_for": [1], "max_seconds": 5}):
        with pytest.raises(ValueError, match="`compiled_for` must be positive numbers of texts, without `max_seconds`"):
            trained.translator.export(tmp_path / "served", **options)
    assert not [*tmp_path.iterdir()]
