"""Tests of the language model against NumPy, and of its cached steps against its full pass."""

import dataclasses

import keras
import numpy as np
import pytest
import reference as ref
from keras import ops

from zoo.config import LanguageModelConfig
from zoo.models.language_model import LanguageModel

B, T, V, D, HEADS = 3, 7, 13, 12, 2
LLAMA = LanguageModelConfig(
    vocabulary_size=V,
    num_layers=2,
    hidden_dim=D,
    intermediate_dim=10,
    num_heads=HEADS,
    activation="swish",
    normalize_first=True,
    dropout=0.3,
)
GPT2 = dataclasses.replace(LLAMA, architecture="gpt2", max_positions=17, activation="gelu")
PUBLISHED = dataclasses.replace(GPT2, activation="gelu_tanh", num_impossible=3)
IDS = np.random.default_rng(1).integers(4, V, (B, T)).astype("int32")


def made(config):
    keras.utils.set_random_seed(2)
    model = LanguageModel(config)
    model.build()
    generator = np.random.default_rng(3)
    for variable in model.trainable_variables:
        variable.assign(
            generator.normal(0.5 if "gamma" in variable.path or "scale" in variable.path else 0, 0.4, variable.shape)
        )
    return model


def numpy(x):
    return np.asarray(ops.convert_to_numpy(x), "float64")


def logits(model, ids, **inputs):
    return numpy(model({"token_ids": ids, **inputs}, training=False))


def rotated(x):
    """Su et al. 2021, eq. 34, with the pairs i and i + H / 2."""
    half = x.shape[-1] // 2
    angles = np.arange(x.shape[-2])[:, None] * 10_000.0 ** (-np.arange(half) / half)
    first, second = x[..., :half], x[..., half:]
    parts = first * np.cos(angles) - second * np.sin(angles), first * np.sin(angles) + second * np.cos(angles)
    return np.concatenate(parts, -1)


def rms(x, weights):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + LLAMA.epsilon) * weights["scale"]


def expected_logits(model, ids):
    """Computes the logits from the equations."""
    weights, llama = ref.weights_of(model), model.config.architecture == "llama"
    table = weights["embedding/embeddings"]
    x = table[ids] * (np.sqrt(D) if llama else 1)
    if not llama:
        x = x + weights["positions/embeddings"][: ids.shape[1]]
    norm = rms if llama else (lambda x, own: ref.layer_norm(x, own, GPT2.epsilon))
    place = rotated if llama else (lambda x: x)
    blocks = ref.part(weights, "blocks")
    for i in range(model.config.num_layers):
        block = ref.part(blocks, f"block_{i}")
        attention = ref.part(block, "self_attention")
        query = norm(x, ref.part(block, "self_attention_residual/norm"))

        def heads(name, query=query, attention=attention):
            y = ref.dense(query, ref.part(attention, name))
            return y.reshape(*y.shape[:2], HEADS, -1).transpose(0, 2, 1, 3)

        parts = place(heads("query_dense")), place(heads("key_dense")), heads("value_dense")
        attended = ref.attention(*parts, ref.causal(T, T))[0].transpose(0, 2, 1, 3).reshape(x.shape)
        x = x + ref.dense(attended, ref.part(attention, "output_dense"))
        inner = norm(x, ref.part(block, "feed_forward_residual/norm"))
        layer = ref.part(block, "feed_forward")
        hidden = ref.dense(inner, ref.part(layer, "inner_dense"))
        if llama:
            hidden = hidden / (1 + np.exp(-hidden)) * ref.dense(inner, ref.part(layer, "gate_dense"))
        else:
            hidden = getattr(ref, model.config.activation)(hidden)
        x = x + ref.dense(hidden, ref.part(layer, "output_dense"))
    found = norm(x, ref.part(blocks, "norm")) @ table.T
    found[..., : model.config.num_impossible] = -1e4
    return found


@pytest.mark.parametrize("config", [LLAMA, GPT2, PUBLISHED], ids=["llama", "gpt2", "published"])
def test_logits_equal_the_equations(config):
    model = made(config)
    np.testing.assert_allclose(logits(model, IDS), expected_logits(model, IDS), atol=2e-4)


@pytest.mark.parametrize("config", [LLAMA, GPT2], ids=lambda config: config.architecture)
def test_a_future_token_changes_nothing(config):
    model, changed = made(config), IDS.copy()
    changed[:, 4] = (changed[:, 4] - 4 + 1) % (V - 4) + 4
    before, after = logits(model, IDS), logits(model, changed)
    np.testing.assert_allclose(after[:, :4], before[:, :4], atol=1e-6)
    assert np.abs(after[:, 4:] - before[:, 4:]).max() > 1e-2


def test_documents_of_a_row_do_not_see_each_other():
    model = made(LLAMA)
    segments = np.where(np.arange(T) < 3, 1, 2)[None].repeat(B, 0).astype("int32")
    packed = logits(model, IDS, segment_ids=segments)
    alone = [logits(model, IDS[:, :3]), logits(model, IDS[:, 3:])]
    np.testing.assert_allclose(packed, np.concatenate(alone, axis=1), atol=1e-5)


def generated_logits(model, prompts, following, window):
    """Reads prompts of different lengths, then the same tokens after each; returns the logits of all steps.

    There is room for two steps at a time.
    """
    width = max(map(len, prompts))
    ids = np.array([[0] * (width - len(prompt)) + [*prompt] for prompt in prompts], "int32")
    state, token = model.init_state(ops.convert_to_tensor(ids), 2, window)
    step, found = model.step_function(window), []
    for i, following_id in enumerate([*following, None]):
        if i and i % 2 == 0:
            state = model.make_room(state, 2)
        found_logits, state = step(token, state, ops.convert_to_tensor(i, "int32"))
        found.append(numpy(found_logits))
        if following_id is not None:
            token = ops.full((len(prompts),), following_id, "int32")
    return np.stack(found, axis=1)


@pytest.mark.parametrize("config", [LLAMA, PUBLISHED], ids=lambda config: config.architecture)
def test_steps_after_prompts_of_different_lengths_equal_the_full_pass(config):
    model, following = made(config), [5, 9, 4]
    prompts = [IDS[0, :2], IDS[1, :5], IDS[2, :1]]
    found = generated_logits(model, prompts, following, window=100)
    for prompt, row in zip(prompts, found):
        whole = logits(model, np.array([[*prompt, *following]], "int32"))[0]
        np.testing.assert_allclose(row, whole[len(prompt) - 1 :], atol=1e-5)


def test_a_window_hides_what_is_far_away():
    model, following = made(dataclasses.replace(LLAMA, num_layers=1)), [5, 9, 4]
    (found,) = generated_logits(model, [IDS[0, :4]], following, window=3)
    whole = [*IDS[0, :4], *following]
    for i, row in enumerate(found):  # With one block, a step sees the tokens of its window only.
        seen = np.array([whole[max(0, 4 + i - 3) : 4 + i]], "int32")
        np.testing.assert_allclose(row, logits(model, seen)[0, -1], atol=1e-5)


def test_tokens_that_occur():
    found = numpy(made(GPT2).occurring_tokens(IDS))
    np.testing.assert_array_equal(found, [[token in row for token in range(V)] for row in IDS])


def test_saving_keeps_the_logits(tmp_path):
    model = made(PUBLISHED)
    model.save(tmp_path / "model.keras")
    np.testing.assert_allclose(logits(keras.models.load_model(tmp_path / "model.keras"), IDS), logits(model, IDS))


@pytest.mark.parametrize("values", [{"architecture": "gpt2"}, {"max_positions": 5}, {"architecture": "bert"}])
def test_impossible_configurations_are_refused(values):
    with pytest.raises(ValueError, match="architecture"):
        dataclasses.replace(LLAMA, **values)
