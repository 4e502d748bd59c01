"""Tests of the attention probes on models with known attention, and on models that only seem not to see steps."""

import re

import keras
import numpy as np
import pytest
from keras import layers, ops

from keras_transformer import MultiHeadAttention, PositionalEncoding, TokenEmbedding
from keras_transformer.verification import attention_probes, verify
from keras_transformer.verification.influence import influences
from keras_transformer.verification.subject import Subject

RNG = np.random.default_rng(1)
BATCH = RNG.integers(1, 30, (4, 11))
BATCH[1, 7:] = BATCH[2, 3:] = 0
PATTERNS = {
    "all": lambda by, seen: seen == seen,
    "causal": lambda by, seen: seen <= by,
    "too strict": lambda by, seen: seen < by,
    "first five": lambda by, seen: seen < 5,
    "first five, causal": lambda by, seen: (seen < 5) & (seen <= by),
    "all but the previous": lambda by, seen: seen != by - 1,
    "itself": lambda by, seen: seen == by,
    "near": lambda by, seen: abs(seen - by) < 3,
    "two before": lambda by, seen: (seen <= by) & (seen > by - 3),
}


class Patterned(layers.Layer):
    """Applies attention to the steps of a pattern, `[B, T, D]` to `[B, T, D]`."""

    def __init__(self, pattern, fused=False):
        super().__init__()
        self.supports_masking = True
        self.pattern, self.fused = PATTERNS[pattern], fused
        self.attention = MultiHeadAttention(2, 8)
        self.kernel = layers.Dense(3 * 16)

    def build(self, shape):
        self.kernel.build(shape) if self.fused else self.attention.build(shape, shape)

    def call(self, x, mask=None):
        steps = ops.arange(ops.shape(x)[1])
        seen = self.pattern(steps[:, None], steps[None])[None]
        if not self.fused:
            return self.attention(x, x, value_mask=mask, attention_mask=seen)
        seen = ops.logical_and(seen, mask[:, None])
        query, key, value = ops.split(self.kernel(x), 3, axis=-1)
        scores = ops.where(seen, ops.einsum("btd,bsd->bts", query, key), -1e9)
        return ops.einsum("bts,bsd->btd", ops.softmax(scores) * ops.cast(seen, x.dtype), value)


def embedded(name=None):
    ids = keras.Input((None,), dtype="int32", name=name)
    return ids, PositionalEncoding()(TokenEmbedding(30, 16)(ids))


def first_state(x):
    return layers.Lambda(lambda x: x[:, 0], mask=lambda x, mask: None)(x)


def attending(*patterns, residual=True, fused=False, pooled=False):
    keras.utils.set_random_seed(1)
    ids, x = embedded()
    for pattern in patterns:
        y = Patterned(pattern, fused)(x)
        x = layers.LayerNormalization()(layers.Add()([x, y]) if residual else y)
    if pooled:
        x = first_state(x)
    return keras.Model(ids, layers.Dense(5)(x))


def every_step(model, causal=False, batch=BATCH):
    rng = np.random.default_rng(1)
    subject, causal = Subject(model, batch), "inputs" if causal else None
    return attention_probes.every_step(subject, causal, influences(subject, causal, rng), rng)


def polarity(model, batch=BATCH):
    subject = Subject(model, batch)
    return attention_probes.mask_polarity(subject, None, influences(subject, None, np.random.default_rng(1)))


@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize(
    ("patterns", "causal"),
    [(["all"], False), (["causal"], True), (["all", "near"], False), (["two before", "causal"], True)],
)
def test_full_and_causal_attention_pass(patterns, causal, residual):
    assert every_step(attending(*patterns, residual=residual), causal).passed


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("patterns", [["too strict"], ["causal", "too strict"], ["too strict", "too strict"]])
def test_step_that_does_not_see_itself_fails_with_a_residual(patterns, fused):
    """Outputs depend on the step itself by the residual connection, but not by attention."""
    found = every_step(attending(*patterns, fused=fused), causal=True)
    assert found.passed is False and "does not see itself" in found.note and "kernel" in found.note


@pytest.mark.parametrize("fused", [False, True])
def test_two_causal_layers_pass(fused):
    assert every_step(attending("causal", "causal", fused=fused), causal=True).passed


def test_step_that_does_not_see_itself_fails_without_a_residual():
    found = every_step(attending("too strict", residual=False), causal=True)
    assert found.passed is False and "step 0 does not see step 0" in found.note


@pytest.mark.parametrize(
    ("pattern", "options", "note"),
    [
        ("first five", {}, "step 0 does not see step 5"),
        ("first five", {"pooled": True}, "the output does not see step 5"),
        ("all but the previous", {}, "step 1 does not see step 0"),
        ("itself", {}, "sees itself only, and .*(query|key)"),
    ],
)
def test_unseen_steps_fail(pattern, options, note):
    found = every_step(attending(pattern, **options))
    assert found.passed is False
    assert re.search(note, found.note), found.note


def test_causal_model_that_sees_only_the_first_steps_fails():
    found = every_step(attending("first five, causal"), causal=True)
    assert found.passed is False and "does not see step 5" in found.note


@pytest.mark.parametrize(
    ("pattern", "causal", "note"),
    [("near", False, "2 steps before and 2 behind"), ("two before", True, "2 steps before and 0 behind")],
)
def test_local_attention_is_not_applicable(pattern, causal, note):
    found = every_step(attending(pattern), causal)
    assert found.passed is None and note in found.note


def single_steps(x):
    return x


def last_state(x):
    return layers.SimpleRNN(16, recurrent_initializer=keras.initializers.Orthogonal(0.1))(x)


def maximum(x):
    return layers.Lambda(lambda x: ops.max(x, axis=1), mask=lambda x, mask: None)(layers.Dense(6)(x))


def frozen(x):
    return layers.GlobalAveragePooling1D()(layers.Lambda(ops.stop_gradient, mask=lambda x, mask: mask)(x))


@pytest.mark.parametrize(
    ("kind", "steps", "note"),
    [
        (single_steps, 11, "do not interact"),
        (last_state, 40, "fade"),
        (maximum, 60, "few steps are seen at a time"),
        (frozen, 11, "no gradient reaches inputs"),
    ],
)
def test_models_without_measurable_influence_are_not_applicable(kind, steps, note):
    keras.utils.set_random_seed(1)
    ids, x = embedded()
    model = keras.Model(ids, layers.Dense(5)(kind(x)))
    batch = RNG.integers(1, 30, (3, steps))
    batch[1, steps // 2 :] = 0
    found = every_step(model, batch=batch)
    assert found.passed is None and "not applicable" in found.note and note in found.note
    assert polarity(model, batch).passed is not False


def test_rarely_active_units_pass():
    """Weights of such units have no effect at the second step in most batches."""
    keras.utils.set_random_seed(1)
    ids, x = embedded()
    x = layers.Add()([x, Patterned("causal")(x)])
    x = layers.Dense(64, activation="relu", bias_initializer=keras.initializers.Constant(-1.0))(x)
    assert every_step(keras.Model(ids, layers.Dense(5)(x)), causal=True).passed


class Inverted(layers.Layer):
    def call(self, x):
        return x * 1.0

    def compute_mask(self, x, previous_mask=None):
        return ops.logical_not(previous_mask)


def test_inverted_mask_fails():
    ids, x = embedded()
    x = layers.Add()([x, Patterned("all")(Inverted()(x))])
    found = polarity(keras.Model(ids, layers.Dense(5)(x)))
    assert found.passed is False and "example 1 sees its padding and no other real step" in found.note
    assert polarity(attending("all")).passed


def translator(memory_steps=None, blind=False):
    keras.utils.set_random_seed(1)
    (source, memory), (target, x) = embedded("source"), embedded("target")
    x = layers.Add()([x, Patterned("causal")(x)])
    if memory_steps:
        memory = layers.Lambda(lambda x: x[:, :memory_steps], mask=lambda x, mask: mask[:, :memory_steps])(memory)
    if not blind:
        x = layers.Add()([x, MultiHeadAttention(2, 8)(x, memory)])
    return keras.Model({"source": source, "target": target}, layers.Dense(5)(x))


@pytest.mark.parametrize(
    ("options", "passed", "note"),
    [
        ({}, True, ""),
        ({"memory_steps": 5}, False, "does not see step 5 of source"),
        ({"blind": True}, False, "no output depends on source"),
    ],
)
def test_decoder_must_see_its_whole_source(options, passed, note):
    inputs = {"source": BATCH, "target": np.roll(BATCH, 1, axis=0)[:, :9]}
    found = verify(translator(**options), inputs, causal="target", show=False)["every step is seen"]
    assert found.passed is passed and note in found.note


def test_outputs_of_one_input_need_not_see_the_other():
    (first, x), (second, y) = embedded("a"), embedded("b")
    pooling = layers.GlobalAveragePooling1D()
    model = keras.Model({"a": first, "b": second}, {"a": pooling(x), "b": pooling(y)})
    assert verify(model, {"a": BATCH, "b": BATCH[::-1]}, show=False).passed


@pytest.mark.parametrize(("pattern", "passed"), [("all", True), ("first five", False)])
def test_steps_of_features(pattern, passed):
    inputs = keras.Input((None, 6))
    x = layers.Dense(16)(layers.Masking()(inputs))
    x = layers.Add()([x, Patterned(pattern)(x)])
    features = RNG.normal(size=(3, 8, 6)).astype("float32")
    features[1, 4:] = 0
    assert every_step(keras.Model(inputs, x), batch=features).passed is passed


def test_ids_without_embedding_are_not_applicable():
    class Raw(keras.Model):
        def build(self, shape):
            self.table = self.add_weight(shape=(30, 16), name="table")

        def call(self, ids, training=None):
            return ops.take(self.table, ids, axis=0)

    assert every_step(Raw()).passed is None and "no gradient reaches inputs" in every_step(Raw()).note
    assert polarity(Raw()).passed is None
