"""Tests of token vectors and logits from one table."""

import json

import keras
import layer_checks as checks
import numpy as np
import pytest
from keras import ops

from keras_transformer import TokenEmbedding

B, T, V, D = 3, 5, 11, 4
IDS = np.random.default_rng(0).integers(1, V, (B, T)).astype("int32") * checks.lengths_mask((5, 3, 1), T)


def ready(**kwargs):
    layer = TokenEmbedding(V, D, **kwargs)
    layer.build()
    return layer


class Outer(keras.layers.Layer):
    """Wraps the embedding; under mixed precision a layer casts the weights of the layers inside."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.embedding = TokenEmbedding(V, D, dtype=self.dtype_policy)

    def build(self, inputs_shape=None):
        self.embedding.build()

    def call(self, x):
        return self.embedding(ops.cast(x, "int32"))


def test_vectors_are_scaled_rows():
    layer = ready()
    table = checks.numpy(layer.embeddings)
    np.testing.assert_allclose(checks.numpy(layer(IDS)), np.sqrt(D) * table[IDS], rtol=1e-6)


def test_vectors_without_scale():
    layer = ready(scale=False)
    np.testing.assert_array_equal(checks.numpy(layer(IDS)), checks.numpy(layer.embeddings)[IDS])


def test_logits_are_products_with_the_same_table():
    layer, x = ready(), checks.array(B, T, D)
    assert len(layer.weights) == 1
    np.testing.assert_allclose(checks.numpy(layer.logits(x)), x @ checks.numpy(layer.embeddings).T, atol=1e-6)
    assert checks.numpy(layer.logits(x[:, 0])).shape == (B, V)


def test_standard_deviation_of_initial_rows():
    layer = TokenEmbedding(5000, 16)
    layer.build()
    assert checks.numpy(layer.embeddings).std() == pytest.approx(1 / 4, rel=0.02)


def test_mask():
    np.testing.assert_array_equal(checks.mask_of(ready()(IDS)), IDS != 0)
    assert checks.mask_of(ready(mask_zero=False)(IDS)) is None


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_half_precision(policy):
    layer = ready(dtype=policy)
    assert layer.embeddings.dtype == "float32"
    x = ops.cast(checks.array(B, T, D), layer.compute_dtype)
    for output in (layer(IDS), layer.logits(x)):
        assert keras.backend.standardize_dtype(output.dtype) == layer.compute_dtype


def test_half_precision_gradient_sums_all_occurrences():
    """On JAX a bfloat16 lookup loses most of the sum; on TensorFlow this one is exact in both cases."""
    outer = Outer(dtype="mixed_bfloat16")
    outer.build()
    ids = np.full((32, 128), 7, "float32")
    *_, found = checks.gradients(lambda x: ops.sum(ops.cast(outer(x), "float32")), [ids], outer)
    np.testing.assert_allclose(found[7], 4096 * np.sqrt(D), rtol=1e-6)
    assert not np.delete(found, 7, 0).any()


def test_saving_and_symbolic_calls(tmp_path):
    ids = keras.Input((None,), dtype="int32")
    model = keras.Model(ids, TokenEmbedding(V, D, embeddings_initializer="uniform")(ids))
    assert tuple(model.output.shape) == (None, None, D)
    again = checks.reloaded(model, tmp_path)
    np.testing.assert_array_equal(checks.numpy(again(IDS)), checks.numpy(model(IDS)))
    config = model.layers[1].get_config()
    json.dumps(config)
    assert TokenEmbedding.from_config(config).get_config() == config


@pytest.mark.parametrize(("sizes", "name"), [((0, 4), "vocabulary_size"), ((4, 2.5), "hidden_dim")])
def test_invalid_sizes_raise(sizes, name):
    with pytest.raises(ValueError, match=f"`{name}` must be a positive integer. Received: {name}="):
        TokenEmbedding(*sizes)
