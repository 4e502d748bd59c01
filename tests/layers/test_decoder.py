"""Tests of the decoder stack, and of padding in source and target of deep stacks, in every way to run a model."""

import keras
import layer_checks as checks
import numpy as np
import pytest
import reference as ref
from keras import ops

from keras_transformer import Decoder, Encoder
from keras_transformer.training import TokenCrossEntropy

B, T, S, K, N, D, MEMORY, F, VOCABULARY = 3, 5, 7, 2, 2, 14, 19, 11, 29
DEEP = 3  # The first block, one between two others, and the last.
X, VECTORS = checks.array(B, T, D), checks.array(B, S, MEMORY, seed=1)
PADDING, SOURCE_PADDING = checks.lengths_mask((5, 2, 4), T), checks.lengths_mask((7, 4, 2), S)
generator = np.random.default_rng(2)
TARGET = generator.integers(1, VOCABULARY, (B, T)) * PADDING
SOURCE = generator.integers(1, VOCABULARY, (B, S)) * SOURCE_PADDING
LABELS = generator.integers(1, VOCABULARY, (B, T)) * PADDING


def padded(ids):
    return np.pad(ids, ((0, 0), (0, 3)))


def make(num_layers=2, **kwargs):
    return Decoder(num_layers, **{"num_heads": N, "intermediate_dim": F, **kwargs})


def ready(**kwargs):
    layer = make(**kwargs)
    layer.build((B, T, D), (B, S, MEMORY))
    return checks.randomize(layer)


@pytest.mark.parametrize("normalize_first", [False, True])
def test_equals_numpy(normalize_first):
    layer = ready(num_layers=3, normalize_first=normalize_first)
    weights, causal = ref.weights_of(layer), ref.causal(T, T)
    of_source = SOURCE_PADDING[:, None]
    for call, mask, memory_mask in (
        ({}, causal, None),
        ({"inputs_mask": PADDING, "memory_mask": SOURCE_PADDING}, PADDING[:, None] & causal, of_source),
        ({"memory_mask": SOURCE_PADDING, "use_causal_mask": False}, None, of_source),
    ):
        expected = ref.decoder(X, VECTORS, weights, 3, N, mask, memory_mask, normalize_first)
        np.testing.assert_allclose(checks.numpy(layer(X, VECTORS, **call)), expected, atol=1e-4)


def test_attached_masks_equal_explicit_ones_and_propagate():
    layer = ready(num_layers=DEEP)
    expected = checks.numpy(layer(X, VECTORS, inputs_mask=PADDING, memory_mask=SOURCE_PADDING))
    x, memory = checks.with_mask(X, PADDING), checks.with_mask(VECTORS, SOURCE_PADDING)
    for outputs in (layer(x, memory), layer(X, memory, mask=PADDING), layer(x, memory=memory)):
        np.testing.assert_allclose(checks.numpy(outputs), expected, atol=1e-6)
        np.testing.assert_array_equal(checks.mask_of(outputs), PADDING)
    np.testing.assert_array_equal(checks.mask_of(memory), SOURCE_PADDING)
    for without in (layer(X, memory), layer(x, VECTORS)):
        assert np.abs(checks.numpy(without) - expected).max() > 1e-3


def test_later_steps_change_nothing():
    layer, changed = ready(num_layers=DEEP), X.copy()
    changed[:, 3:] += 1.0
    before, after = (checks.numpy(layer(x, VECTORS)) for x in (X, changed))
    np.testing.assert_array_equal(before[:, :3], after[:, :3])
    assert (np.abs(before[:, 3:] - after[:, 3:]).max(-1) > 1e-3).all()


# Padding in deep stacks.


class Translator(keras.Model):
    """Maps ids to logits; the embeddings attach the masks, and no call passes them explicitly."""

    def __init__(self, num_layers=DEEP, **kwargs):
        super().__init__()
        self.source_table = keras.layers.Embedding(VOCABULARY, D, mask_zero=True)
        self.target_table = keras.layers.Embedding(VOCABULARY, D, mask_zero=True)
        self.encoder = Encoder(1, N, F, **kwargs)
        self.decoder = make(num_layers, **kwargs)
        self.head = keras.layers.Dense(VOCABULARY)

    def call(self, inputs):
        source, target = inputs
        memory = self.encoder(self.source_table(source))
        return self.head(self.decoder(self.target_table(target), memory))


def functional():
    inputs = [keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")]
    return keras.Model(inputs, Translator().call(inputs))


def assert_padding_changes_nothing(model):
    def outputs(source, target):
        return checks.numpy(model([ops.convert_to_tensor(source), ops.convert_to_tensor(target)]))

    plain = outputs(SOURCE, TARGET)
    of_source, of_target = outputs(padded(SOURCE), TARGET), outputs(SOURCE, padded(TARGET))
    assert of_target.shape == (B, T + 3, VOCABULARY)
    np.testing.assert_allclose(of_source[PADDING], plain[PADDING], atol=1e-5)
    np.testing.assert_allclose(of_target[:, :T][PADDING], plain[PADDING], atol=1e-5)


@pytest.mark.parametrize("normalize_first", [False, True])
def test_padding_changes_nothing_eagerly_and_subclassed(normalize_first):
    model = Translator(normalize_first=normalize_first)
    assert_padding_changes_nothing(model.call)
    assert_padding_changes_nothing(model)


def test_padding_changes_nothing_in_a_functional_model(tmp_path):
    model = functional()
    assert_padding_changes_nothing(model)
    again = checks.reloaded(model, tmp_path)
    assert_padding_changes_nothing(again)
    inputs = [ops.convert_to_tensor(SOURCE), ops.convert_to_tensor(TARGET)]
    np.testing.assert_allclose(checks.numpy(again(inputs)), checks.numpy(model(inputs)), atol=1e-6)


def test_padding_changes_nothing_under_fit():
    # XLA compiles deep gradients slowly, and on JAX masks do not depend on the depth.
    num_layers = DEEP if keras.backend.backend() == "tensorflow" else 2
    model, loss = Translator(num_layers), TokenCrossEntropy(0.1)
    model.compile(optimizer=keras.optimizers.SGD(0.05), loss=loss)
    losses = []
    for _ in range(3):
        expected = float(checks.numpy(loss(LABELS, model([SOURCE, TARGET]))))
        history = model.fit([padded(SOURCE), padded(TARGET)], padded(LABELS), batch_size=B, verbose=0)
        assert history.history["loss"][0] == pytest.approx(expected, abs=1e-5)
        losses.append(expected)
    assert np.ptp(losses) > 1e-3, "nothing was learned"


# Cache and scores.


@pytest.mark.parametrize("normalize_first, beams", [(False, 1), (True, K)])
def test_step_by_step_equals_the_full_pass(normalize_first, beams):
    layer, x = ready(normalize_first=normalize_first), checks.array(B * beams, T, D)
    rows = np.repeat(np.arange(B), beams)
    full = checks.numpy(layer(x, VECTORS[rows], memory_mask=SOURCE_PADDING[rows]))
    cache, index = layer.init_cache(ops.convert_to_tensor(VECTORS), T, beams), 0
    assert len(cache) == 2 and cache[0].cross_attention.key.shape == (B * N, S, D // N)

    def step(x, cache, index):
        x = checks.with_mask(x, ops.ones(x.shape[:2], "bool"))  # As from an embedding with `mask_zero`.
        return layer(
            x,
            memory_mask=ops.convert_to_tensor(SOURCE_PADDING),
            attention_mask=checks.mask_of_beams(B, T, beams),
            cache=cache,
            cache_index=index,
        )

    step = checks.compiled(step)
    for steps in (2, 1, 1, 1) if beams == 1 else (1,) * T:
        chunk = slice(index, index + steps)
        outputs, cache = step(x[:, chunk], cache, ops.convert_to_tensor(index, "int32"))
        np.testing.assert_allclose(checks.numpy(outputs), full[:, chunk], atol=1e-5)
        index += steps


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("beams", [1, K])
def test_cache_without_past_equals_the_full_pass(beams, causal):
    layer, x = ready(normalize_first=True), checks.array(B * beams, T, D)
    rows, mask = np.repeat(np.arange(B), beams), np.resize(PADDING, (B * beams, T))
    full = layer(x, VECTORS[rows], inputs_mask=mask, memory_mask=SOURCE_PADDING[rows], use_causal_mask=causal)
    cache = layer.init_cache(ops.convert_to_tensor(VECTORS), None)
    assert cache[0].self_attention is None and cache[0].cross_attention.key.shape == (B * N, S, D // N)

    def call(x, mask, cache):
        source_mask = ops.convert_to_tensor(SOURCE_PADDING)
        return layer(x, inputs_mask=mask, memory_mask=source_mask, use_causal_mask=causal, cache=cache)

    outputs = checks.compiled(call)(ops.convert_to_tensor(x), ops.convert_to_tensor(mask), cache)
    np.testing.assert_allclose(checks.numpy(outputs)[mask], checks.numpy(full)[mask], atol=1e-5)


@pytest.mark.parametrize("normalize_first", [False, True])
def test_scores_of_every_layer(normalize_first):
    layer = ready(num_layers=3, normalize_first=normalize_first)
    x, memory = checks.with_mask(X, PADDING), checks.with_mask(VECTORS, SOURCE_PADDING)
    vectors = x
    expected = []
    for block in layer.blocks:
        vectors, scores = block(vectors, memory, return_attention_scores=True)
        expected.append(checks.numpy(scores.cross_attention))
    _, found = layer(x, memory, return_attention_scores=True)
    _, explicit = layer(
        ops.convert_to_tensor(X),
        ops.convert_to_tensor(VECTORS),
        inputs_mask=PADDING,
        memory_mask=SOURCE_PADDING,
        return_attention_scores=True,
    )
    for i in range(3):
        np.testing.assert_allclose(checks.numpy(found[i].cross_attention), expected[i], atol=1e-6)
        np.testing.assert_allclose(checks.numpy(explicit[i].cross_attention), expected[i], atol=1e-6)
    scores = expected[-1]
    assert scores.shape == (B, N, T, S) and not scores.transpose(0, 3, 1, 2)[~SOURCE_PADDING].any()
    np.testing.assert_allclose(scores.sum(-1), 1.0, atol=1e-5)


# Other properties.


def test_layer_rules(tmp_path):
    kwargs = {"dropout": 0.1, "attention_dropout": 0.2, "activation_dropout": 0.3, "activation": "gelu"}
    checks.check_layer(lambda **k: make(**kwargs, normalize_first=True, **k), X, VECTORS, half_tolerance=0.3)
    checks.check_saving(lambda **k: make(1, normalize_first=True, **k), X, VECTORS, folder=tmp_path)


def test_neither_or_both_of_memory_and_cache_raise():
    layer = ready()
    cache = layer.init_cache(ops.convert_to_tensor(VECTORS), T)
    with pytest.raises(ValueError, match="Exactly one .* Received: memory=None, cache=None"):
        layer(X)
    with pytest.raises(ValueError, match="Exactly one .* Received: memory=a tensor, cache=a cache"):
        layer(X, VECTORS, cache=cache, cache_index=0)


def test_errors_of_the_blocks_are_raised():
    with pytest.raises(ValueError, match="`num_layers` must be a positive integer. Received: num_layers=0"):
        make(0)
    with pytest.raises(ValueError, match="width divisible by num_heads=2"):
        make().build((B, T, 7), (B, S, MEMORY))
    with pytest.raises(ValueError, match="must be boolean .*dtype=int32"):
        ready()(X, VECTORS, memory_mask=SOURCE_PADDING.astype("int32"))
