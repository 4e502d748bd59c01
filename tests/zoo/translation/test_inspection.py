"""What is shown of attention and of searches is what the model computes."""

import math

import keras
import numpy as np
import pytest

from zoo.config import END_ID, START_ID
from zoo.corpora.batching import source_batch
from zoo.translation.inspection import attention_weights, recorded_search

TEXTS = "mano tek.", "luri soba pim dala!", "koru koru fes niva gat mano tek."


def test_attention_is_that_of_the_model(trained):
    translator = trained.translator
    for text in TEXTS:
        (translation,) = translator.translate([text])
        found = attention_weights(translator, text, translation)
        config = translator.model.config
        steps, sources = len(found.target), len(found.source)
        assert found.encoder.shape == (config.num_encoder_layers, config.num_heads, sources, sources)
        assert found.decoder.shape == (config.num_decoder_layers, config.num_heads, steps, steps)
        assert found.cross.shape == (config.num_decoder_layers, config.num_heads, steps, sources)
        for weights in found[2:]:
            np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
        assert np.triu(found.decoder[0, 0], 1).max() < 1e-6, "the decoder looks at nothing that follows"
        (source,), (target,) = translator.tokenizer.encode([text]), translator.tokenizer.encode([translation])
        ids = np.asarray([[START_ID, *target]], "int32")
        mean = keras.ops.convert_to_numpy(translator.attention()(source_batch([source]), ids))[0]
        np.testing.assert_allclose(found.cross[-1].mean(0), mean, atol=1e-5)
        assert "".join(found.source) == f"{' '.join(['', *text.split()])}</s>"
        assert found.target[0] == "<s>"


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="JAX compiles searches")
@pytest.mark.parametrize("text", TEXTS)
def test_recorded_searches(trained, text):
    """Kept are the K most probable extensions that go on; an end counts if it is as probable as the least of them."""
    translator, beams = trained.translator, 3
    found = recorded_search(translator, text, beams)
    expected = translator.n_best([text], beams, beams)[0]
    best = {}
    for shown, score in found.translations:
        best.setdefault(shown, score)
    assert [*best] == [each.text for each in expected]
    np.testing.assert_allclose([*best.values()], [each.score for each in expected], atol=1e-4)
    total, tokens = 0.0, []
    for number, step in enumerate(found.steps):
        assert [each.log_prob for each in step] == sorted((each.log_prob for each in step), reverse=True)
        kept = [each.log_prob for each in step if each.fate == "kept"]
        pruned = [each for each in step if each.fate == "pruned"]
        finished = [each for each in step if each.fate == "finished"]
        if number + 1 < len(found.steps):
            assert 1 <= len(kept) <= beams
            assert all(each.log_prob <= min(kept) for each in pruned)
            assert not any(each.fate == "stopped" for each in step)
        assert all(each.token == "</s>" and (not kept or each.log_prob >= min(kept)) for each in finished)
        for each in finished:
            penalty = ((5 + number + 1) / 6) ** translator.length_penalty
            assert math.isclose(each.score, each.log_prob / penalty, rel_tol=1e-5)
        chosen = [each for each in step if each.best]
        assert len(chosen) == (number < len(tokens) + 1 and not (tokens and tokens[-1] == "</s>"))
        if chosen:
            tokens.append(chosen[0].token)
            total = chosen[0].log_prob
    assert "".join(tokens) == f" {found.translations[0][0]}</s>"
    ids = [START_ID, *translator.tokenizer.encode([found.translations[0][0]])[0], END_ID]
    source = source_batch(translator.tokenizer.encode([text]))
    logits = translator.model({"source": source, "target": np.asarray([ids[:-1]], "int32")}, training=False)
    log_probs = keras.ops.convert_to_numpy(keras.ops.log_softmax(logits))[0]
    assert math.isclose(total, log_probs[np.arange(len(ids) - 1), ids[1:]].sum(), abs_tol=1e-3)


def test_wrong_inputs_raise(trained):
    translator = trained.translator
    with pytest.raises(ValueError, match="a text of 0"):
        attention_weights(translator, "", "te")
    with pytest.raises(ValueError, match="a translation of [2-9].."):
        attention_weights(translator, "te", "tek " * 250)
    for text, beams in (("", 3), ("te", 1)):
        with pytest.raises(ValueError, match="A search has words and beams"):
            recorded_search(translator, text, beams)
    with pytest.raises(ValueError, match="must be a Seq2Seq"):
        recorded_search(object(), "te", 3)
