"""Seq2Seq: padding and later tokens change nothing, and steps with a cache equal the full call."""

import dataclasses

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.decoding.hypotheses import take_rows
from keras_transformer.ops.positions import sinusoidal_encoding
from zoo.config import ModelConfig
from zoo.models.compiling import compile_function
from zoo.models.seq2seq import Seq2Seq

CONFIG = ModelConfig(
    vocabulary_size=17,
    num_encoder_layers=1,
    num_decoder_layers=2,
    hidden_dim=6,
    intermediate_dim=11,
    num_heads=3,
    dropout=0.2,
    attention_dropout=0.1,
)
SOURCE = np.array([[5, 6, 7, 8, 3], [9, 10, 3, 0, 0]])
TARGET = np.array([[2, 7, 8, 9, 10, 11, 12], [2, 13, 14, 3, 0, 0, 0]])
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def make(config=CONFIG, seed=1, **arguments):
    keras.utils.set_random_seed(seed)
    model = Seq2Seq(config, **arguments)
    model.build()
    rng = np.random.default_rng(seed)
    for weight in model.trainable_weights:  # Zeros and ones would hide errors.
        weight.assign(weight + rng.normal(0, 0.2, weight.shape))
    return model


@pytest.fixture(scope="module")
def model():
    return make()


@pytest.fixture(scope="module")
def pre_norm():
    return make(dataclasses.replace(CONFIG, normalize_first=True))


@pytest.fixture(scope="module")
def t5():
    return make(dataclasses.replace(CONFIG, architecture="t5", normalize_first=True, key_dim=5))


@pytest.fixture(scope="module")
def t5_gated():
    config = dataclasses.replace(CONFIG, architecture="t5.1.1", normalize_first=True, num_heads=4, key_dim=5)
    return make(dataclasses.replace(config, activation="gelu_tanh"))


def logits(model, source, target, **arguments):
    return np.asarray(model({"source": ops.array(source), "target": ops.array(target)}, **arguments))


def test_logits_of_every_target_step(model):
    found = logits(model, SOURCE, TARGET)
    assert found.shape == (2, 7, 17) and np.isfinite(found).all()
    assert len(np.unique(found.round(5))) > 200


@pytest.mark.parametrize(("name", "num_beams"), [("model", 3), ("pre_norm", 1), ("t5", 3), ("t5_gated", 1)])
def test_steps_with_a_cache_equal_the_full_call(request, name, num_beams):
    model = request.getfixturevalue(name)
    expected = np.repeat(logits(model, SOURCE, TARGET), num_beams, axis=0)
    targets = np.repeat(TARGET, num_beams, axis=0)
    step, state = model.step_function(num_beams), model.init_state(ops.array(SOURCE), num_beams, TARGET.shape[1] + 2)
    found = []
    for index, tokens in enumerate(targets.T):
        step_logits, state = step(ops.array(tokens), state, index)
        found.append(np.asarray(step_logits))
    np.testing.assert_allclose(np.stack(found, 1)[targets != 0], expected[targets != 0], **CLOSE)


def test_steps_in_a_compiled_loop_equal_the_full_call(model):
    expected = logits(model, SOURCE, TARGET)

    def decode(source, target):
        steps = TARGET.shape[1]
        step, state = model.step_function(1), model.init_state(source, 1, steps)

        def body(index, found, state):
            step_logits, state = step(ops.take(target, index, axis=1), state, index)
            here = ops.equal(ops.arange(steps), index)[None, :, None]
            return index + 1, ops.where(here, step_logits[:, None], found), state

        start = ops.convert_to_tensor(0), ops.zeros((2, steps, 17)), state
        return ops.while_loop(lambda index, *_: index < steps, body, start)[1]

    found = np.asarray(compile_function(model, decode)(SOURCE.astype("int32"), TARGET.astype("int32")))
    np.testing.assert_allclose(found[TARGET != 0], expected[TARGET != 0], **CLOSE)


def test_beams_are_independent(model):
    """Row b * K + k belongs to beam k of sentence b."""
    sources = np.repeat(SOURCE, 3, axis=0)
    tokens = np.array([4, 5, 6, 7, 8, 9])
    step, state = model.step_function(3), model.init_state(ops.array(SOURCE), 3, 4)
    _, state = step(ops.full((6,), 2), state, 0)
    found, _ = step(ops.array(tokens), state, 1)
    expected = logits(model, sources, np.stack([np.full(6, 2), tokens], 1))[:, 1]
    np.testing.assert_allclose(found, expected, **CLOSE)


def test_a_beam_that_continues_another_has_its_history(model):
    """Compares with the full call on the history of each beam; several beams or none continue a slot."""
    random, sources = np.random.default_rng(0), np.repeat(SOURCE, 3, axis=0)
    prefixes = np.full((6, 1), 2)
    step, state = model.step_function(3), model.init_state(ops.array(SOURCE), 3, 6)
    for index in range(5):
        found, state = step(ops.array(prefixes[:, -1]), state, index)
        if index:  # Keras warns of a softmax over one step.
            np.testing.assert_allclose(found, logits(model, sources, prefixes)[:, -1], **CLOSE)
        rows = random.integers(0, 3, 6) + np.repeat([0, 3], 3)
        state = take_rows(state, ops.array(rows.astype("int32")))
        prefixes = np.concatenate([prefixes[rows], random.integers(4, 17, (6, 1))], axis=1)


@pytest.mark.parametrize("name", ["model", "t5"])
def test_padding_of_the_source_changes_nothing(request, name):
    model = request.getfixturevalue(name)
    expected = logits(model, SOURCE, TARGET)
    padded = logits(model, np.pad(SOURCE, ((0, 0), (0, 6))), TARGET)
    np.testing.assert_allclose(padded, expected, **CLOSE)
    alone = logits(model, SOURCE[1:, :3], TARGET[1:, :4])
    np.testing.assert_allclose(alone[0], expected[1, :4], **CLOSE)


def test_padding_of_the_target_changes_nothing(model):
    expected = logits(model, SOURCE, TARGET)
    padded = logits(model, SOURCE, np.pad(TARGET, ((0, 0), (0, 6))))[:, :7]
    real = TARGET != 0
    np.testing.assert_allclose(padded[real], expected[real], **CLOSE)


def test_every_real_source_token_is_seen(model):
    changed = np.repeat(SOURCE[:1], 6, axis=0)
    changed[range(5), range(5)] = 15  # The last row is unchanged.
    found = logits(model, changed, np.repeat(TARGET[:1], 6, axis=0))
    assert (np.abs(found[:5] - found[5]).max((1, 2)) > 1e-3).all()


@pytest.mark.parametrize("name", ["model", "t5"])
def test_later_target_tokens_are_not_seen_and_earlier_ones_are(request, name):
    model = request.getfixturevalue(name)
    changed = np.repeat(TARGET[:1], 8, axis=0)
    changed[range(7), range(7)] = 15  # The last row is unchanged.
    *found, expected = logits(model, np.repeat(SOURCE[:1], 8, axis=0), changed)
    for step, row in enumerate(found):
        np.testing.assert_allclose(row[:step], expected[:step], **CLOSE)
        assert (np.abs(row[step:] - expected[step:]).max(-1) > 1e-4).all()


def test_a_source_of_padding_alone_is_finite(model):
    assert np.isfinite(logits(model, np.zeros_like(SOURCE), TARGET)).all()


def test_embeddings_are_scaled_and_have_positions(model):
    table = np.asarray(model.embedding.embeddings)
    positions = np.asarray(sinusoidal_encoding(ops.arange(3, 10), 6))
    expected = np.sqrt(6) * table[TARGET] + positions
    np.testing.assert_allclose(model.embed(ops.array(TARGET), start_index=3), expected, rtol=1e-5, atol=1e-6)


def test_one_table_for_source_target_and_output(model):
    assert [weight.path for weight in model.weights if 17 in weight.shape] == ["seq2seq/embedding/embeddings"]


def test_blocks_of_t5_share_one_table_of_distances(t5):
    """Its attention is wider than the stream, as a head has its own width, and nothing else has a bias."""
    paths = {weight.path.removeprefix("seq2seq/"): tuple(weight.shape) for weight in t5.weights}
    tables = {path: shape for path, shape in paths.items() if "buckets" in path}
    assert tables == {f"{side}/buckets/biases": (32, 3) for side in ("encoder", "decoder")}
    assert not [path for path in paths if path.endswith(("bias", "beta"))]
    assert paths["decoder/block_1/cross_attention/query_dense/kernel"] == (6, 15)
    assert paths["decoder/block_1/self_attention/output_dense/kernel"] == (15, 6)


def test_t5_knows_the_order_of_tokens_without_positions(t5):
    moved = SOURCE[:1, [1, 0, 2, 3, 4]]
    assert np.abs(logits(t5, SOURCE[:1], TARGET[:1]) - logits(t5, moved, TARGET[:1])).max() > 1e-3
    np.testing.assert_allclose(t5.embed(ops.array(TARGET), start_index=3), t5.embed(ops.array(TARGET)))


def test_later_t5_has_an_output_matrix_of_its_own(t5_gated):
    tables = [weight.path for weight in t5_gated.weights if 17 in weight.shape]
    assert tables == ["seq2seq/embedding/embeddings", "seq2seq/output_embedding/embeddings"]
    vectors = np.random.default_rng(2).normal(size=(2, 6)).astype("float32")
    expected = vectors @ np.asarray(t5_gated.output_embedding.embeddings).T
    np.testing.assert_allclose(t5_gated.logits(ops.array(vectors)), expected, **CLOSE)


def test_dropout_is_for_training_only(model):
    np.testing.assert_array_equal(logits(model, SOURCE, TARGET), logits(model, SOURCE, TARGET, training=False))
    trained = [logits(model, SOURCE, TARGET, training=True) for _ in range(2)]
    assert np.abs(trained[0] - trained[1]).max() > 1e-2
    # `fit` passes `training` only if `call` has this argument.
    assert model._call_has_training_arg
    # Each kind of dropout in the configuration.
    rates = [(layer.name, layer.rate) for layer in layers(model) if isinstance(layer, keras.layers.Dropout)]
    assert ("embedding_dropout", 0.2) in rates and ("attention_dropout", 0.1) in rates
    assert {rate for name, rate in rates if name == "attention_dropout"} == {0.1}


def layers(model):
    return [layer for layer in model._flatten_layers() if layer is not model]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["model", "pre_norm", "t5", "t5_gated"])
def test_a_saved_model_is_the_same_model(request, name, tmp_path):
    model = request.getfixturevalue(name)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.config == model.config
    np.testing.assert_array_equal(logits(loaded, SOURCE, TARGET), logits(model, SOURCE, TARGET))
    assert [w.path for w in loaded.weights] == [w.path for w in model.weights]


def test_saved_weights_fit_another_model(model, tmp_path):
    model.save_weights(tmp_path / "model.weights.h5")
    other = make(model.config, seed=2)
    other.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(logits(other, SOURCE, TARGET), logits(model, SOURCE, TARGET))


@pytest.mark.parametrize("precision", ["mixed_bfloat16", "mixed_float16"])
def test_half_precision_keeps_float32_weights(precision):
    whole, half = make(), make(dtype=precision)
    assert {weight.dtype for weight in half.trainable_weights} == {"float32"}
    assert {layer.dtype_policy.name for layer in layers(half)} == {precision}
    memory = half.encode(ops.array(SOURCE))
    compute_dtype = precision.removeprefix("mixed_")
    assert keras.backend.standardize_dtype(memory.dtype) == compute_dtype
    found, expected = logits(half, SOURCE, TARGET), logits(whole, SOURCE, TARGET)
    assert found.dtype == compute_dtype
    assert 0 < np.abs(found - expected)[TARGET != 0].max() < 0.2 * expected.std()
    first, _ = half.step_function(1)(ops.array(TARGET[:, 0]), half.init_state(ops.array(SOURCE), 1, 2), 0)
    assert keras.backend.standardize_dtype(first.dtype) == compute_dtype
    np.testing.assert_allclose(first, found[:, 0], rtol=0.02, atol=0.02 * expected.std())


@pytest.mark.parametrize(("side", "wrong"), [("source", 17), ("target", -1)])
def test_ids_outside_of_the_vocabulary_are_refused(side, wrong):
    ids = {"source": SOURCE.copy(), "target": TARGET.copy()}
    ids[side][0, 1] = wrong
    with pytest.raises(ValueError, match=rf"`{side}` must hold ids in \[0, 17\)"):
        make()({name: ops.array(values) for name, values in ids.items()})
