"""Tests of the translation task: training from raw text, checkpoints, resuming, errors."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
from report_checks import check_outcomes, check_report

import zoo
from zoo.config import ModelConfig, Recipe, TrainingConfig
from zoo.config_values import from_dict, to_dict
from zoo.corpora.encoded_corpus import encode_corpus
from zoo.storage.arrays import load_arrays, named_arrays
from zoo.text.tokenizer import Tokenizer
from zoo.text.tokenizer_training import train_tokenizer
from zoo.training.runs import Run, TrainingData, prepare_folder
from zoo.translation import task
from zoo.translation.task import Translation

SMALL = Recipe(
    ModelConfig(
        vocabulary_size=300,
        num_encoder_layers=1,
        num_decoder_layers=1,
        hidden_dim=8,
        intermediate_dim=16,
        num_heads=2,
        dropout=0.2,
        attention_dropout=0.1,
    ),
    TrainingConfig(
        batch_tokens=256,
        micro_batch_tokens=128,
        steps=6,
        warmup_steps=2,
        peak_learning_rate=0.01,
        evaluate_every=2,
        average=2,
        subword_dropout=0.2,
        score="loss",
    ),
    source="a test",
)


def test_train_from_raw_text(trained, corpus):
    """A model of two layers translates nearly all unseen sentences correctly after seconds."""
    evaluation = task.evaluate(trained.translator, corpus.test, resamples=100)
    (bleu, chrf), references, hypotheses, *_ = evaluation
    found = check_outcomes(evaluation, len(corpus.test))
    assert all((found.scores[i] > 99.9) == (references[i] == hypotheses[i]) for i in range(len(references)))
    check_report(trained.folder, trained.translator.card)
    assert bleu.metric == "BLEU" and bleu.value > 90 and chrf.metric == "chrF2" and chrf.value > 90
    exact = [hypothesis == reference for hypothesis, reference in zip(hypotheses, references)]
    assert np.mean(exact) > 0.85


def test_files_of_finished_run(trained):
    folder = trained.folder
    assert from_dict(Recipe, json.loads((folder / "recipe.json").read_text("utf-8"))) == trained.recipe
    vocabulary = Tokenizer.load(folder / "vocabulary.model")
    assert vocabulary.digest == trained.translator.tokenizer.digest
    lines = [json.loads(line) for line in (folder / "training" / "log.jsonl").read_text("utf-8").splitlines()]
    settings = trained.recipe.training
    assert [line["step"] for line in lines] == [
        *range(settings.evaluate_every, settings.steps + 1, settings.evaluate_every)
    ]
    for line in lines:
        assert line["score"] == line["dev_bleu"]
        assert line["dev_perplexity"] == pytest.approx(np.exp(line["dev_loss"]))
    assert lines[-1]["dev_loss"] < lines[0]["dev_loss"] and lines[-1]["dev_bleu"] > lines[0]["dev_bleu"]
    assert any("parameters; vocabulary of" in line for line in trained.log)


def test_card_contains_recipe_seed_and_scores(trained):
    card = zoo.load(trained.folder / "checkpoint").card
    assert card["name"] == "invented" and card["task"] == "translation" and card["seed"] == 1
    sizes = {**to_dict(trained.recipe.model), "vocabulary_size": trained.translator.tokenizer.vocabulary_size}
    assert card["recipe"] == {**to_dict(trained.recipe), "model": sizes}
    assert card["weights"] in ("average", "best", "mean of both")
    assert card["parameters"] == trained.translator.model.count_params()
    bleu, chrf = card["scores"]
    assert bleu["metric"] == "BLEU" and bleu["data"] == "dev" and "tok:13a" in bleu["signature"]
    assert bleu["value"] > 85 and bleu["interval"] >= 0 and chrf["metric"] == "chrF2"


def test_checkpoint_restores_translator(trained, corpus):
    loaded = zoo.load(trained.folder / "checkpoint")
    sources = [source for source, _ in corpus.test[:10]]
    assert loaded.translate(sources, beam_size=1) == trained.translations
    assert loaded.model.dtype_policy.name == "float32"


def test_dev_loss_is_mean_over_real_tokens(trained, corpus, tmp_path):
    translator = trained.translator
    run = Run(SMALL, TrainingData(None, corpus.dev[:12], None), translator.tokenizer, tmp_path)
    printed = []
    run.log = printed.append
    figures = Translation().dev_figures(translator, run)
    assert [text.split("\n")[0].strip() for text in printed] == [corpus.dev[i][0] for i in (0, 4, 8)]
    total, count = 0.0, 0
    for source, target in corpus.dev[:12]:
        source, target = translator.tokenizer.encode([source, target])
        inputs = {"source": np.array([[*source, 3]]), "target": np.array([[2, *target]])}
        logits = np.asarray(translator.model(inputs))[0].astype("float64")
        log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        total -= log_probs[np.arange(len(target) + 1), [*target, 3]].sum()
        count += len(target) + 1
    assert figures["dev_loss"] == pytest.approx(total / count, rel=1e-4)
    assert figures["score"] == -figures["dev_loss"] and "dev_bleu" not in figures


def run(folder, corpus, recipe=SMALL, **arguments):
    return task.train(recipe, corpus.train[:60], corpus.dev[:8], folder, log=lambda text: None, **arguments)


@pytest.fixture(scope="module")
def finished(corpus, tmp_path_factory):
    """Returns the folder of an uninterrupted run of the small recipe."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    run(folder, corpus)
    return folder


@pytest.mark.slow
def test_interrupted_run_resumes(finished, corpus, tmp_path, interrupt_evaluation):
    """With dropout, subword dropout and accumulation, over several epochs."""
    with interrupt_evaluation(2, task):
        run(tmp_path / "run", corpus)
    assert not (tmp_path / "run" / "checkpoint").exists()
    run(tmp_path / "run", corpus)
    weights = [(folder / "checkpoint" / "model.safetensors").read_bytes() for folder in (finished, tmp_path / "run")]
    assert weights[0] == weights[1]
    history = json.loads((finished / "training" / "log.jsonl").read_text("utf-8").splitlines()[-1])
    assert history["step"] == 6 and history["epoch"] >= 1
    assert not (finished / "corpus").exists() and not (tmp_path / "run" / "corpus").exists()


@pytest.mark.parametrize("candidate", ["average", "best", "mean of both"])
def test_final_weights_have_best_dev_score(candidate, finished, corpus, tmp_path, monkeypatch):
    """Repeats the end of a run, with a score that is highest for one of the candidates."""
    folder = shutil.copytree(finished, tmp_path / "run", ignore=shutil.ignore_patterns("checkpoint"))
    steps = [load_arrays(path)[0] for path in (folder / "training").glob("step-*.safetensors")]
    average = {name: np.mean([step[name] for step in steps], axis=0) for name in steps[0]}
    best = load_arrays(folder / "training" / "best.safetensors")[0]
    mean = {name: (average[name] + best[name]) / 2 for name in best}
    wanted = {"average": average, "best": best, "mean of both": mean}[candidate]

    def closeness(self, predictor, run):
        arrays = named_arrays(predictor.model)
        return {"score": -sum(float(abs(array - wanted[name]).sum()) for name, array in arrays.items())}

    monkeypatch.setattr(Translation, "dev_figures", closeness)
    kept = run(folder, corpus)
    assert kept.card["weights"] == candidate
    for name, array in named_arrays(kept.model).items():
        np.testing.assert_allclose(array, wanted[name], atol=1e-6)


@pytest.mark.slow
def test_initial_weights_and_sizes_are_copied(trained, corpus, tmp_path):
    training = dataclasses.replace(SMALL.training, steps=1, evaluate_every=1, peak_learning_rate=1e-7, warmup_steps=1)
    model = dataclasses.replace(trained.recipe.model, num_heads=1, hidden_dim=10, dropout=0.5, vocabulary_size=999)
    recipe = dataclasses.replace(trained.recipe, training=training, model=model)
    found = run(tmp_path / "run", corpus, recipe, initial=trained.translator)
    assert found.model.config == dataclasses.replace(trained.translator.model.config, dropout=0.5)
    assert found.tokenizer.digest == trained.translator.tokenizer.digest
    before, after = (named_arrays(translator.model) for translator in (trained.translator, found))
    for name, array in before.items():
        np.testing.assert_allclose(after[name], array, atol=3e-7)
    assert any((after[name] != array).any() for name, array in before.items())


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def changed(name, value):
    return dataclasses.replace(SMALL, training=dataclasses.replace(SMALL.training, **{name: value}))


def test_finished_folder_raises(finished, corpus):
    before = contents(finished)
    with pytest.raises(ValueError, match="holds a finished checkpoint. Train into another folder.*nothing was changed"):
        run(finished, corpus)
    assert contents(finished) == before


@pytest.fixture
def begun(finished, corpus, tmp_path):
    folder = tmp_path / "begun"
    shutil.copytree(finished, folder)
    shutil.rmtree(folder / "checkpoint")
    tokenizer = Tokenizer.load(folder / "vocabulary.model")
    encode_corpus(corpus.train[:60], tokenizer, max_tokens=SMALL.training.max_tokens, folder=folder / "corpus")
    return folder


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (changed("steps", 5), r"started with another recipe \(training.steps was 6\).*nothing was changed"),
        (changed("seed", 2), r"\(training.seed was 1\)"),
        (dataclasses.replace(SMALL, model=dataclasses.replace(SMALL.model, num_heads=4)), r"\(model.num_heads was 2\)"),
        (dataclasses.replace(SMALL, source="elsewhere"), r"\(another source\)"),
    ],
)
def test_resuming_with_another_recipe_raises(begun, corpus, recipe, message):
    before = contents(begun)
    with pytest.raises(ValueError, match=message):
        run(begun, corpus, recipe)
    assert contents(begun) == before


def test_micro_batch_size_may_change(begun):
    assert prepare_folder(begun, changed("micro_batch_tokens", 0)) == begun


def test_resuming_with_another_vocabulary_raises(begun, corpus):
    other = train_tokenizer(["mano tek luri"], 280)
    before = contents(begun)
    with pytest.raises(ValueError, match="started with another vocabulary, vocabulary.model"):
        run(begun, corpus, tokenizer=other)
    assert contents(begun) == before


def test_resuming_with_another_corpus_raises(begun, corpus):
    before = contents(begun)
    with pytest.raises(ValueError, match="another corpus of 60 examples. Received: 59 examples. Use that corpus"):
        task.train(SMALL, corpus.train[:59], corpus.dev[:8], begun, log=lambda text: None)
    assert contents(begun) == before


def test_resuming_with_another_dev_set_raises(begun, corpus):
    """Even with one of the same size, as its scores say nothing about the weights that were best so far."""
    before, changed = contents(begun), [*corpus.dev[:7], (corpus.dev[7][0], "niva")]
    with pytest.raises(ValueError, match="another dev set of 8 examples. Received: 8 examples. Use that dev set"):
        task.train(SMALL, corpus.train, changed, begun, log=lambda text: None)
    assert contents(begun) == before


def test_folder_of_other_files_raises(corpus, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match="is not empty and holds no training run to resume"):
        run(tmp_path, corpus)
    assert contents(tmp_path) == {next(iter(contents(tmp_path))): b"mine"}


@pytest.mark.parametrize(
    ("recipe", "train_pairs", "dev_pairs", "message"),
    [
        (SMALL, [], [("a", "b")], "No pair is left to train on. Received: 0 pairs"),
        (SMALL, [("mano tek", "Brund")], [], "The dev corpus must have pairs"),
        (changed("max_tokens", 2), [("mano tek luri", "Brund ølk")], [("a", "b")], "No pair .* training.max_tokens=2"),
        (changed("batch_tokens", 9), [("zzyzx" * 4, "y")], [("a", "b")], "`batch_tokens` must hold the longest row"),
    ],
)
def test_invalid_corpus_raises(tokenizer, tmp_path, recipe, train_pairs, dev_pairs, message):
    with pytest.raises(ValueError, match=message):
        task.train(recipe, train_pairs, dev_pairs, tmp_path / "run", None, tokenizer, log=lambda text: None)


def test_empty_text_raises(tmp_path):
    with pytest.raises(ValueError, match="A vocabulary needs text to learn from"):
        task.train(SMALL, [], [("a", "b")], tmp_path / "run", log=lambda text: None)


def test_evaluation_without_pairs_raises(trained):
    with pytest.raises(ValueError, match="at least one pair to evaluate on"):
        task.evaluate(trained.translator, [])


def test_bleu_options_default_to_card(trained, corpus):
    translator = trained.translator
    card, translator.card = translator.card, {"bleu": {"tokenize": "none", "lowercase": True}}
    try:
        bleu, _ = task.evaluate(translator, corpus.test[:5], beam_size=1, resamples=0).scores
        assert "case:lc" in bleu.signature and "tok:none" in bleu.signature
        bleu, _ = task.evaluate(translator, corpus.test[:5], beam_size=1, resamples=0, tokenize="13a").scores
        assert "case:lc" in bleu.signature and "tok:13a" in bleu.signature
    finally:
        translator.card = card
