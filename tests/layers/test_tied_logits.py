"""Tests of logits of the embedding's table inside functional models."""

import keras
import layer_checks as checks
import numpy as np
import pytest
from keras import ops

from keras_transformer import TokenEmbedding

B, T, V, D = 3, 5, 11, 4
IDS = np.random.default_rng(0).integers(1, 6, (B, T)).astype("int32") * checks.lengths_mask((5, 3, 1), T)


def tied_model(batch_size=None, steps=None, **kwargs):
    ids = keras.Input((steps,), batch_size=batch_size, dtype="int32")
    embedding = TokenEmbedding(V, D, name="embedding", **kwargs)
    x = keras.layers.Dense(D, name="dense")(embedding(ids))
    return keras.Model(ids, embedding.logits(x)), embedding


def expected(model, embedding):
    return checks.numpy(embedding.logits(model.get_layer("dense")(embedding(IDS))))


@pytest.mark.parametrize("batch_size", [None, B])
@pytest.mark.parametrize("steps", [None, T])
def test_logits_follow_the_table(batch_size, steps, tmp_path):
    model, embedding = tied_model(batch_size, steps)
    assert model.output.shape == (batch_size, steps, V)
    checks.randomize(model)
    logits = expected(model, embedding)
    np.testing.assert_allclose(checks.numpy(model(IDS)), logits, atol=1e-6)
    np.testing.assert_allclose(model.predict(IDS, verbose=0), logits, atol=1e-6)
    again = checks.reloaded(model, tmp_path)
    assert len(again.weights) == len(model.weights) == 3
    np.testing.assert_array_equal(checks.numpy(again(IDS)), checks.numpy(model(IDS)))


def test_all_rows_are_trained():
    """The softmax of the logits moves the rows of tokens that are in no input, too."""
    model, embedding = tied_model(B, T)
    before = np.array(ops.convert_to_numpy(embedding.embeddings))
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(IDS, IDS, batch_size=B, verbose=0)
    assert (np.abs(ops.convert_to_numpy(embedding.embeddings) - before).max(axis=1) > 0).all()
    np.testing.assert_allclose(checks.numpy(model(IDS)), expected(model, embedding), atol=1e-6)


def test_a_model_of_logits_alone_has_the_table():
    embedding = TokenEmbedding(V, D)
    vectors = keras.Input((None, D))
    model = keras.Model(vectors, embedding.logits(vectors))
    assert [w.shape for w in model.weights] == [(V, D)]
    x = checks.array(B, T, D)
    np.testing.assert_allclose(checks.numpy(model(x)), x @ checks.numpy(embedding.embeddings).T, atol=1e-6)


def test_logits_keep_dtype_and_mask():
    embedding = TokenEmbedding(V, D, dtype="mixed_bfloat16")
    vectors = keras.Input((None, D), dtype="float32")
    assert keras.backend.standardize_dtype(embedding.logits(vectors).dtype) == "float32"
    half = keras.Input((None, D), dtype="bfloat16")
    assert keras.backend.standardize_dtype(embedding.logits(half).dtype) == "bfloat16"
    embedding = TokenEmbedding(V, D)
    logits = embedding(embedding(IDS), reverse=True)
    np.testing.assert_array_equal(checks.mask_of(logits), IDS != 0)


def test_ids_of_an_input_of_floats():
    """`keras.Input` gives floats by default; half precision would merge ids above 256."""
    ids = keras.Input((None,))
    embedding = TokenEmbedding(500, D, dtype="mixed_bfloat16")
    model = keras.Model(ids, embedding(ids))
    found = checks.numpy(model(np.array([[257.0, 0.0]], "float32")))
    np.testing.assert_array_equal(found, checks.numpy(embedding(np.array([[257, 0]]))))
    np.testing.assert_array_equal(checks.mask_of(embedding(np.array([[257.0, 0.0]]))), [[True, False]])


def test_a_constant_kernel_in_a_functional_model_raises():
    _, embedding = tied_model()
    with pytest.raises(ValueError, match=r"would be a constant.*Received: output_kernel of shape \(4, 11\). Leave it"):
        embedding.logits(keras.Input((None, D)), embedding.output_kernel())
