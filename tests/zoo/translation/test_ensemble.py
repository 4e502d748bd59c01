"""Translators that decode together average their probabilities; corpora that translators make."""

import copy

import keras
import numpy as np
import pytest
from keras import ops
from perturbed import perturbed

from zoo.models.ensemble import Seq2SeqEnsemble
from zoo.models.seq2seq import Seq2Seq
from zoo.text.tokenizer_training import train_tokenizer
from zoo.translation import distillation
from zoo.translation.__main__ import main
from zoo.translation.distillation import distill
from zoo.translation.ensemble import EnsembleTranslator
from zoo.translation.metrics import sentence_chrf
from zoo.translation.predictor import Translator


@pytest.fixture(scope="module")
def translator(trained):
    return trained.translator


@pytest.fixture(scope="module")
def other(translator):
    """Returns a translator whose weights differ a little."""
    return perturbed(translator, 0.03)


@pytest.fixture(scope="module")
def sources(corpus):
    return [source for source, _ in corpus.test]


def test_probabilities_are_averaged(translator, other):
    rng = np.random.default_rng(1)
    inputs = {"source": rng.integers(3, 50, (2, 5)), "target": rng.integers(3, 50, (2, 4))}
    ensemble = Seq2SeqEnsemble([translator.model, other.model, other.model])
    one, two, found = (
        np.exp(np.asarray(ops.log_softmax(m(inputs)), "float64")) for m in (translator.model, other.model, ensemble)
    )
    np.testing.assert_allclose(found, (one + 2 * two) / 3, atol=1e-6)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_scores_of_a_search_are_those_of_the_averaged_model(translator, other, sources, beam_size):
    ensemble = EnsembleTranslator([translator, other])
    (found,) = ensemble.n_best(sources[:1], beam_size=beam_size, num_return=1)
    row, target = (translator.tokenizer.encode([text])[0] for text in (sources[0], found[0].text))
    inputs = {"source": np.array([[*row, 3]]), "target": np.array([[2, *target]])}
    log_probs = np.asarray(ops.log_softmax(ensemble.model(inputs)))[0]
    total = sum(log_probs[i, token] for i, token in enumerate([*target, 3]))
    length = ((5 + len(target) + 1) / 6) ** 0.6 if beam_size > 1 else 1
    assert found[0].score == pytest.approx(total / length, rel=1e-4)


def test_twice_the_same_model_translates_as_one(translator, sources):
    ensemble = EnsembleTranslator([translator, translator])
    assert ensemble.translate(sources) == translator.translate(sources)
    texts = ensemble.translate(sources[:2])
    assert ensemble.align(sources[:2], texts)[1].links == translator.align(sources[:2], texts)[1].links


def test_an_ensemble_knows_the_words_of_all(translator):
    one, two = copy.copy(translator), copy.copy(translator)
    one.placeholders, one.known_words, two.known_words = True, "a b", "b c"
    assert EnsembleTranslator([one, two]).known_words == "a b c"


def test_what_an_ensemble_cannot_do(translator, tmp_path):
    with pytest.raises(ValueError, match="An ensemble is several checkpoints"):
        EnsembleTranslator([translator, translator]).save(tmp_path / "x")
    one, two, unnamed = copy.copy(translator), copy.copy(translator), copy.copy(translator)
    one.card, two.card, unnamed.card = {"target_language": "de"}, {"target_language": "fr"}, {}
    assert EnsembleTranslator([one, unnamed]).card["target_language"] == "de"
    with pytest.raises(ValueError, match="same languages. Received: target_language 'de' and 'fr'"):
        EnsembleTranslator([unnamed, one, two])
    tokenizer = train_tokenizer(["a b c"] * 9, 300)
    config = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(translator.model)).config
    model = Seq2Seq(type(config)(**{**config.__dict__, "vocabulary_size": tokenizer.vocabulary_size}))
    with pytest.raises(ValueError, match="need the same vocabulary"):
        EnsembleTranslator([translator, Translator(model, tokenizer)])


def rows(path):
    return [tuple(line.split("\t")) for line in path.read_text("utf-8").splitlines()]


def test_distilled_corpora(translator, sources, tmp_path):
    found = translator.translate(sources)
    examples = [(f" {sources[0]}\n", None), *((source, None) for source in sources[1:]), (" ", None)]
    assert distill(translator, examples, tmp_path / "a.tsv") == len(sources)
    assert rows(tmp_path / "a.tsv") == [*zip(sources, found)] and not (tmp_path / "a.tsv.parts").exists()
    distill(translator, examples, tmp_path / "b.tsv", tag="<bt>", reverse=True)
    assert rows(tmp_path / "b.tsv") == [(f"<bt> {text}", source) for text, source in zip(found, sources)]
    with pytest.raises(ValueError, match="a.tsv exists already"):
        distill(translator, examples, tmp_path / "a.tsv")
    with pytest.raises(ValueError, match="`closest_of` must be at least 1"):
        distill(translator, examples, tmp_path / "c.tsv", closest_of=0)


def test_the_closest_to_the_reference_is_taken(other, sources, tmp_path):
    n_best = [[candidate.text for candidate in found] for found in other.n_best(sources[:8], 4)]
    examples = [(source, texts[i % len(texts)]) for i, (source, texts) in enumerate(zip(sources, n_best))]
    distill(other, examples, tmp_path / "a.tsv", closest_of=4)
    assert [target for _, target in rows(tmp_path / "a.tsv")] == [reference for _, reference in examples]
    assert sentence_chrf("ab", "ab") == 100


def test_an_interrupted_run_goes_on(translator, sources, tmp_path, monkeypatch):
    monkeypatch.setattr(distillation, "_BLOCK", 3)
    whole, cut, translated = tmp_path / "whole.tsv", tmp_path / "cut.tsv", []
    examples = [(source, None) for source in sources[:10]]
    distill(translator, examples, whole)

    def stop(count):
        translated.append(count)
        if len(translated) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        distill(translator, examples, cut, progress=stop)
    assert not cut.exists() and len([*(tmp_path / "cut.tsv.parts").glob("*.tsv")]) == 2
    calls = []
    monkeypatch.setattr(translator, "n_best", lambda texts, **options: calls.append(texts) or [])
    monkeypatch.setattr(distillation, "_lines", lambda *a: calls.append(a[1]) or ["x\ty"])
    distill(translator, examples, cut)
    assert [len(block) for block in calls] == [3, 1], "the first two parts are kept"
    assert cut.read_text().splitlines()[:6] == whole.read_text().splitlines()[:6]


def test_command_line(trained, sources, tmp_path, capsys):
    checkpoint = str(trained.folder / "checkpoint")
    (tmp_path / "texts.txt").write_text("\n".join(sources[:3]), "utf-8")
    assert main(["translate", "--checkpoint", checkpoint, checkpoint, str(tmp_path / "texts.txt")]) == 0
    expected = trained.translator.translate(sources[:3])
    assert capsys.readouterr().out.splitlines() == expected
    arguments = ["distill", "--checkpoint", checkpoint, "--output", str(tmp_path / "d.tsv")]
    assert main([*arguments, "--texts", str(tmp_path / "texts.txt"), "--tag", "<ft>"]) == 0
    assert rows(tmp_path / "d.tsv") == [(f"<ft> {text}", found) for text, found in zip(sources, expected)]
    nonsense = ["--texts", str(tmp_path / "texts.txt"), "--closest-of", "2"]
    assert main([*arguments, *nonsense]) == 2 and "--closest-of compares with references" in capsys.readouterr().err
    assert main([*arguments]) == 2 and "either a corpus or --texts" in capsys.readouterr().err
