"""Tests of distance buckets that several layers share; test_score_variants.py tests the attention itself."""

import copy

import keras
import layer_checks as checks
import numpy as np
import pytest

from keras_transformer import BucketedAttention, DistanceBuckets, Encoder, EncoderBlock

B, T, N, H, D, F = 3, 7, 3, 4, 12, 11
X = checks.array(B, T, D)


@keras.saving.register_keras_serializable("tests", "SharingBlock")
class Block(EncoderBlock):
    buckets = None

    def _make_attention(self, width, name):
        return BucketedAttention(self.num_heads, H, buckets=self.buckets, dtype=self.dtype_policy, name=name)


@keras.saving.register_keras_serializable("tests", "SharingEncoder")
class SharingEncoder(Encoder):
    block_class = Block

    def build(self, inputs_shape):
        self.buckets = DistanceBuckets(N, 8, 6, dtype=self.dtype_policy)
        for block in self.blocks:
            block.buckets = self.buckets
        super().build(inputs_shape)


@keras.saving.register_keras_serializable("tests", "SharingModel")
class Subclassed(keras.Model):
    """A model that is given its layers, so that its configuration has them."""

    def __init__(self, attentions, **kwargs):
        super().__init__(**kwargs)
        self.attentions = attentions

    def call(self, x):
        for attention in self.attentions:
            x = attention(x, x)
        return x

    def get_config(self):
        return {**super().get_config(), "attentions": self.attentions}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "attentions": keras.saving.deserialize_keras_object(config["attentions"])})


def attentions(count=3):
    shared = DistanceBuckets(N, 8, 6)
    return [BucketedAttention(N, H, buckets=shared) for _ in range(count)]


def functional():
    x = inputs = keras.Input((None, D))
    for layer in attentions():
        x = layer(x, x)
    return keras.Model(inputs, x)


def nested():
    """The second layer is in a model of its own."""
    first, second = attentions(2)
    inner = keras.Input((None, D))
    inner_model = keras.Model(inner, second(inner, inner))
    inputs = keras.Input((None, D))
    return keras.Model(inputs, inner_model(first(inputs, inputs)))


def borrowing():
    """The second layer has the buckets that the first one made for itself."""
    first = BucketedAttention(N, H, num_buckets=8, max_distance=6)
    second = BucketedAttention(N, H, buckets=first.buckets)
    inputs = keras.Input((None, D))
    x = first(inputs, inputs)
    return keras.Model(inputs, second(x, x))


def stack():
    inputs = keras.Input((None, D))
    return keras.Model(inputs, SharingEncoder(2, N, F)(inputs))


def subclassed():
    model = Subclassed(attentions())
    model(X)
    return model


def tables(model):
    return [weight for weight in model.weights if weight.path.endswith("biases")]


@pytest.mark.parametrize("make", [functional, nested, borrowing, stack, subclassed])
def test_loaded_models_and_copies_share_buckets(make, tmp_path):
    model = checks.randomize(make())
    assert len(tables(model)) == 1
    expected = checks.numpy(model(X))
    for again in (checks.reloaded(model, tmp_path), copy.deepcopy(model)):
        assert len(again.weights) == len(model.weights)
        np.testing.assert_array_equal(checks.numpy(again(X)), expected)
        tables(again)[0].assign(tables(again)[0] + 1.0)
        assert (checks.numpy(tables(model)[0]) != checks.numpy(tables(again)[0])).all()


def test_two_tables_stay_two(tmp_path):
    inputs = x = keras.Input((None, D))
    for layer in (*attentions(2), *attentions(2)):
        x = layer(x, x)
    assert len(tables(checks.reloaded(keras.Model(inputs, x), tmp_path))) == 2


def test_copies_of_a_model_by_its_configuration_have_a_table_for_each_layer():
    model = functional()
    for again in (keras.models.clone_model(model), keras.Model.from_config(model.get_config())):
        assert len(tables(again)) == 3
        assert not {id(table) for table in tables(again)} & {id(table) for table in tables(model)}


def test_configurations_with_the_sizes_of_the_buckets_are_read():
    config = {**keras.layers.Layer(name="a").get_config(), "num_heads": N, "key_dim": H, "num_buckets": 10}
    assert BucketedAttention.from_config(config).buckets.num_buckets == 10


def test_buckets_of_other_heads_raise():
    with pytest.raises(ValueError, match="as many heads. Received: num_heads=2, buckets.num_heads=3"):
        BucketedAttention(2, H, buckets=DistanceBuckets(N, 8, 6))
