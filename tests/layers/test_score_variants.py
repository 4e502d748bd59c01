"""Attention layers with other scores than dot products, against NumPy, alone and in blocks, with masks and caches."""

import math

import keras
import layer_checks as checks
import numpy as np
import pytest
import reference as ref
from keras import ops

from keras_transformer import (
    AdditiveAttention,
    BucketedAttention,
    DistanceBuckets,
    Encoder,
    EncoderBlock,
    LinearBiasAttention,
    RelativeAttention,
    RotaryAttention,
    verify,
)
from keras_transformer.layers.linear_bias_attention import head_slopes

B, T, S, N, H, D, F = 3, 7, 5, 3, 4, 12, 11
X, MEMORY = checks.array(B, T, D), checks.array(B, S, D, seed=1)
MASK = checks.lengths_mask((7, 2, 5), T)
VARIANTS = {
    "rotary": (RotaryAttention, {}),
    "rotary, halves": (RotaryAttention, {"pairing": "halves", "base": 50.0}),
    "linear biases": (LinearBiasAttention, {}),
    "relative": (RelativeAttention, {"max_distance": 2}),
    "buckets": (BucketedAttention, {"num_buckets": 8, "max_distance": 6}),
    "buckets, one side": (BucketedAttention, {"num_buckets": 5, "max_distance": 6, "bidirectional": False}),
    "additive": (AdditiveAttention, {}),
}


@pytest.fixture(params=VARIANTS)
def variant(request):
    return VARIANTS[request.param]


def ready(variant, **changes):
    layer_class, options = variant
    layer = layer_class(N, H, **options, **changes)
    layer.build((B, T, D))
    return checks.randomize(layer)


def rotated(heads, positions, base, pairing):
    """Multiplies pairs, as complex numbers, by exp(i angle)."""
    angles = positions[:, None] * base ** (-2 * np.arange(H // 2) / H)
    first, second = (slice(0, None, 2), slice(1, None, 2)) if pairing == "interleaved" else (slice(0, 2), slice(2, 4))
    turned = (heads[..., first] + 1j * heads[..., second]) * np.exp(1j * angles)
    result = np.empty_like(heads)
    result[..., first], result[..., second] = turned.real, turned.imag
    return result


def bucket_of(distance, buckets):
    """Computes the bucket of one distance, key minus query, as the code that was published with T5 does."""
    first, count = 0, buckets.num_buckets
    if buckets.bidirectional:
        count //= 2
        first, distance = count * (distance > 0), abs(distance)
    else:
        distance = max(-distance, 0)
    exact = count // 2
    if distance < exact:
        return first + distance
    ratio = math.log(distance / exact) / math.log(buckets.max_distance / exact)
    return first + min(count - 1, exact + int(ratio * (count - exact) + 1e-9))


def numpy_scores(layer, query, key, query_positions, key_positions):
    """Computes scores [B, N, T, S] of heads [B, N, T, H] and [B, N, S, H] from the equations."""
    weights, distances = ref.weights_of(layer), key_positions[None] - query_positions[:, None]
    if isinstance(layer, RotaryAttention):
        options = layer.base, layer.pairing
        query, key = rotated(query, query_positions, *options), rotated(key, key_positions, *options)
    scores = np.einsum("bnth,bnsh->bnts", query, key) / np.sqrt(H)
    if isinstance(layer, LinearBiasAttention):
        return scores - np.array([2**-4, 2**-8, 2**-2])[:, None, None] * np.abs(distances)
    if isinstance(layer, RelativeAttention):
        vectors = weights["distances"][np.clip(distances, -2, 2) + 2]
        return scores + np.einsum("bnth,tsh->bnts", query, vectors) / np.sqrt(H)
    if isinstance(layer, BucketedAttention):
        buckets = np.vectorize(lambda distance: bucket_of(distance, layer.buckets))(distances)
        return scores + weights["buckets/biases"][buckets].transpose(2, 0, 1)
    if isinstance(layer, AdditiveAttention):
        hidden = np.tanh(query[:, :, :, None] + key[:, :, None])
        return np.einsum("bntsh,nh->bnts", hidden, weights["score_vectors"].reshape(N, H))
    return scores


def numpy_weights(layer, query, value, mask=None):
    weights = ref.weights_of(layer)
    heads = (
        ref.dense(x, ref.part(weights, f"{name}_dense")).reshape(B, -1, N, H).transpose(0, 2, 1, 3)
        for name, x in (("query", query), ("key", value))
    )
    scores = numpy_scores(layer, *heads, np.arange(query.shape[1]), np.arange(value.shape[1]))
    return ref.softmax(scores if mask is None else np.where(mask, scores, -np.inf))


def test_weights_equal_numpy(variant):
    layer = ready(variant)
    for value, mask in ((X, None), (MEMORY, None), (X, MASK)):
        masked = {} if mask is None else {"value_mask": mask}
        found = layer(X, value, return_attention_scores=True, **masked)[1]
        expected = numpy_weights(layer, X, value, None if mask is None else mask[:, None, None])
        np.testing.assert_allclose(checks.numpy(found), expected, atol=1e-5)
    query, key = (ref.dense(X, ref.part(ref.weights_of(layer), f"{name}_dense")) for name in ("query", "key"))
    dot_products = np.einsum("btnh,bsnh->bnts", *(x.reshape(B, T, N, H) for x in (query, key))) / np.sqrt(H)
    found = layer(X, X, return_attention_scores=True)[1]
    assert np.abs(checks.numpy(found) - ref.softmax(dot_products)).max() > 1e-2


def test_steps_with_a_cache_equal_the_full_call(variant):
    layer = ready(variant)
    whole, cache = checks.numpy(layer(X, X, use_causal_mask=True)), layer.init_cache(B, T)
    for first, last in ((0, 3), (3, 4), (4, 7)):
        outputs, cache = layer(X[:, first:last], X[:, first:last], cache=cache, cache_index=first)
        np.testing.assert_allclose(checks.numpy(outputs), whole[:, first:last], atol=1e-5)


@pytest.mark.parametrize("name", ["rotary", "linear biases", "relative", "buckets", "additive"])
def test_layer_rules(name, tmp_path):
    layer_class, options = VARIANTS[name]
    checks.check_layer(lambda **k: layer_class(N, H, **options, **k), X, X)
    checks.check_saving(lambda **k: layer_class(N, H, **options, **k), X, X, folder=tmp_path)


@pytest.mark.parametrize("name", ["rotary", "relative"])
def test_padding_and_later_steps_change_nothing(name):
    layer_class, options = VARIANTS[name]

    @keras.saving.register_keras_serializable("tests", f"{layer_class.__name__}Block")
    class Block(EncoderBlock):
        def _make_attention(self, width, name):
            return layer_class(self.num_heads, width // self.num_heads, **options, dtype=self.dtype_policy, name=name)

    @keras.saving.register_keras_serializable("tests", f"{layer_class.__name__}Stack")
    class Stack(Encoder):
        block_class = Block

    inputs = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(11, D, mask_zero=True)(inputs)
    model = keras.Model(inputs, keras.layers.Dense(3)(Stack(2, N, F)(x, use_causal_mask=True)))
    checks.randomize(model)
    ids = np.array([[3, 4, 5, 6, 7, 8, 9], [10, 2, 1, 5, 0, 0, 0], [4, 4, 9, 0, 0, 0, 0]])
    report = verify(model, ids, causal=True, show=False)
    assert report.passed, report


@pytest.mark.parametrize("layer_class", [RotaryAttention, LinearBiasAttention])
def test_blocks_of_scores_equal_all_at_once(layer_class):
    layers = [layer_class(N, H, flash_attention=flash) for flash in (True, False)]
    for layer in layers:
        layer.build((B, T, D))
    checks.randomize(layers[0])
    layers[1].set_weights(layers[0].get_weights())
    outputs = [checks.numpy(layer(X, X, use_causal_mask=True)) for layer in layers]
    np.testing.assert_allclose(*outputs, atol=1e-6)


@pytest.mark.parametrize(("count", "furthest", "both"), [(32, 128, True), (32, 128, False), (10, 20, True)])
def test_buckets_of_all_distances(count, furthest, both):
    buckets, positions = DistanceBuckets(1, count, furthest, both), np.arange(-300, 301)
    buckets.build()
    buckets.biases.assign(np.arange(count)[:, None])
    found = checks.numpy(buckets(ops.zeros((1,), "int32"), ops.convert_to_tensor(positions.astype("int32"))))[0, 0, 0]
    assert found.tolist() == [bucket_of(int(position), buckets) for position in positions]
    unused = {count // 2} if both else set()  # As published: distance 0 is in the first bucket of the other side.
    assert {*found} == {*range(count)} - unused


def test_slopes_are_those_of_the_paper():
    np.testing.assert_allclose(head_slopes(8), [2.0**-n for n in range(1, 9)])
    np.testing.assert_allclose(head_slopes(12)[8:], [2.0 ** -(n + 0.5) for n in range(4)])


def test_rotary_scores_depend_on_distances_only():
    layer = ready(VARIANTS["rotary"])
    heads = layer._heads(layer.query_dense, ops.convert_to_tensor(X), None)
    scores = []
    for offset in (0, 9000):
        placed = checks.numpy(layer._place(heads, ops.arange(T) + offset))
        scores.append(np.einsum("bnth,bnsh->bnts", placed, placed))
    np.testing.assert_allclose(*scores, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RotaryAttention(2, 5), "`key_dim` must be even.*Received: key_dim=5"),
        (lambda: RotaryAttention(2, 4, base=0), "`base` must be a positive number. Received: base=0"),
        (lambda: RotaryAttention(2, 4, base="x"), "`base` must be a positive number. Received: base='x'"),
        (lambda: RotaryAttention(2, 4, pairing="x"), "one of interleaved, halves. Received: pairing='x'"),
        (lambda: DistanceBuckets(2, 7), "even for two sides.*Received: num_buckets=7"),
        (lambda: DistanceBuckets(2, 32, 8), "`max_distance` larger than half of a side.*max_distance=8"),
        (lambda: DistanceBuckets(0), "`num_heads` must be a positive integer. Received: num_heads=0"),
        (lambda: DistanceBuckets(2, "8"), "`num_buckets` must be a positive integer. Received: num_buckets='8'"),
        (lambda: BucketedAttention(2, 4, buckets="x"), "must be `DistanceBuckets` or None. Received: buckets='x'"),
        (lambda: RelativeAttention(2, 4, max_distance=0), "`max_distance` must be a positive integer.*=0"),
        (lambda: RelativeAttention(2, 4, max_distance=True), "`max_distance` must be a positive integer.*=True"),
    ],
)
def test_invalid_arguments_raise(make, message):
    with pytest.raises(ValueError, match=message):
        make()
