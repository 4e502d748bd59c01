"""A saved checkpoint says only what is true of its weights and settings; the defaults of a search are settings."""

import numpy as np
import pytest

import zoo
from keras_transformer.training import enable_lora
from zoo.classification.predictor import TextClassifier
from zoo.config import ClassifierConfig, ModelConfig
from zoo.models.classifier import Classifier
from zoo.models.seq2seq import Seq2Seq
from zoo.storage.arrays import named_arrays
from zoo.storage.checkpoints import read_card, read_checkpoint
from zoo.translation import task
from zoo.translation.predictor import Translation, Translator

TRAINED = {"name": "translation/first", "command": "train", "recipe": {"source": "ours"}, "seed": 1, "weights": "best"}
MEASURED = {"scores": [{"metric": "BLEU", "value": 40.0}], "checks": {"texts": ["a"], "answers": ["b"]}}
LASTING = {"data": "some text", "licence": "CC0", "task": "translation"}
SIZES = {"num_encoder_layers": 1, "num_decoder_layers": 1, "hidden_dim": 8, "intermediate_dim": 8, "num_heads": 2}


@pytest.fixture
def untrained(tokenizer):
    """A translator whose model was never built."""
    return Translator(Seq2Seq(ModelConfig(vocabulary_size=tokenizer.vocabulary_size, **SIZES)), tokenizer)


@pytest.fixture
def loaded(untrained, tmp_path):
    """A translator loaded from a checkpoint with a full card."""
    untrained.card = {**TRAINED, **MEASURED, **LASTING}
    untrained.save(tmp_path / "first")
    return zoo.load(tmp_path / "first")


def change_weight(translator):
    weight = translator.model.weights[0]
    weight.assign(weight + 1.0)


def described(card):
    """Returns the card without the entries about its files."""
    return {key: card[key] for key in card if key not in ("format", "parameters", "files", "card_sha256")}


def test_unchanged_translators_keep_their_card(loaded, tmp_path):
    card = loaded.save(tmp_path / "second")
    assert card == read_card(tmp_path / "first") == read_card(tmp_path / "second")
    card = loaded.save(tmp_path / "half", dtype="float16")  # Rounded, but not trained.
    assert described(card) == {**TRAINED, **MEASURED, **LASTING, "dtype": "float16"}


def test_lora_that_has_not_learned_changes_nothing(untrained, tmp_path):
    """Although adding its zeros makes -0.0 to 0.0."""
    untrained.model.build()
    for weight in untrained.model.weights:
        weight.assign(np.full(weight.shape, -0.0))
    untrained.card = {**TRAINED, **MEASURED, **LASTING}
    untrained.save(tmp_path / "first")
    loaded = zoo.load(tmp_path / "first")
    enable_lora(loaded.model, rank=2)
    assert described(loaded.save(tmp_path / "second")) == {**TRAINED, **MEASURED, **LASTING}


def test_changed_weights_are_another_checkpoint(loaded, tmp_path):
    first = read_card(tmp_path / "first")
    change_weight(loaded)
    derived = {"name": "translation/first", "sha256": first["files"]["model.safetensors"]}
    exported = loaded.full_card()  # What `export` writes.
    assert exported == {**LASTING, "derived_from": derived}
    card = loaded.save(tmp_path / "second")
    assert described(card) == exported and zoo.load(tmp_path / "second").card == card


def test_changes_after_a_save_count_too(untrained, tmp_path):
    """As of a translator that `train` returned, which is never loaded."""
    untrained.card = {**TRAINED, **MEASURED, **LASTING}
    untrained.save(tmp_path / "first")
    change_weight(untrained)
    second = untrained.save(tmp_path / "second")
    assert second["derived_from"]["name"] == "translation/first" and "scores" not in second
    assert untrained.save(tmp_path / "again") == second
    change_weight(untrained)
    untrained.card["name"] = "translation/third"
    third = untrained.save(tmp_path / "third")
    assert third["name"] == "translation/third"
    origin = {"derived_from": second["derived_from"], "sha256": second["files"]["model.safetensors"]}
    assert third["derived_from"] == origin


def test_what_is_set_anew_is_kept(loaded, tmp_path):
    change_weight(loaded)
    new = {"name": "translation/mine", "scores": [{"metric": "BLEU", "value": 41.0}]}
    loaded.card |= new
    card = loaded.save(tmp_path / "second")
    assert {key: card[key] for key in new} == new and "recipe" not in card and "checks" not in card


def test_changed_settings_drop_scores_and_answers(loaded, tmp_path):
    loaded.beam_size = 2
    assert described(loaded.save(tmp_path / "second")) == {**TRAINED, **LASTING}
    assert zoo.load(tmp_path / "second").beam_size == 2


def test_a_model_never_built_is_built_by_saving(untrained, tmp_path):
    with pytest.raises(ValueError, match="must have weights. Received: seq2seq, which is not built"):
        named_arrays(untrained.model)
    assert untrained.save(tmp_path / "first")["parameters"] == untrained.model.count_params() > 1000
    saved = read_checkpoint(tmp_path / "first").arrays
    for name, array in named_arrays(untrained.model).items():
        np.testing.assert_array_equal(saved[name], array)


def test_a_classifier_never_built_is_built_by_saving(tokenizer, tmp_path):
    sizes = {"num_layers": 1, "hidden_dim": 8, "intermediate_dim": 8, "num_heads": 2, "num_classes": 2}
    model = Classifier(ClassifierConfig(vocabulary_size=tokenizer.vocabulary_size, **sizes))
    card = TextClassifier(model, tokenizer, ["a", "b"]).save(tmp_path / "first")
    assert card["parameters"] == model.count_params() > 1000 and zoo.load(tmp_path / "first").labels == ["a", "b"]


def test_searches_use_the_settings_of_the_checkpoint(untrained, tmp_path, monkeypatch):
    untrained.beam_size, untrained.length_penalty = 3, 1.5
    untrained.save(tmp_path / "first")
    loaded, seen = zoo.load(tmp_path / "first"), []
    monkeypatch.setattr(loaded, "compiled", lambda function, jit=False, **options: seen.append(options))
    found = [Translation("x", 0.0)]
    monkeypatch.setattr(loaded, "decode", lambda texts, search, beams, progress: [found] * len(texts))
    task.evaluate(loaded, [("a", "b")], resamples=0)
    loaded.n_best(["a"])
    loaded.n_best(["a"], beam_size=2, num_return=1, length_penalty=0.0)
    loaded.search()
    options = [(own["beam_size"], own["length_penalty"], own["num_return"]) for own in seen]
    assert options == [(3, 1.5, 1), (4, 1.5, 4), (2, 0.0, 1), (3, 1.5, 1)]
    assert loaded.plain_search().keywords["beam_size"] == 3


@pytest.mark.parametrize("beam_size", [0, -1])
def test_a_beam_of_no_hypothesis_is_refused(untrained, beam_size):
    with pytest.raises(ValueError, match=f"`beam_size` must be at least 1.*Received: beam_size={beam_size}"):
        Translator(untrained.model, untrained.tokenizer, beam_size=beam_size)
