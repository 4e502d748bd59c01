"""Tests of the classification task: training, scores, checkpoints, resuming, errors."""

import dataclasses
import json

import numpy as np
import pytest
from report_checks import check_outcomes, check_report

import zoo
from zoo.classification import task
from zoo.classification.data import open_examples
from zoo.config_values import override
from zoo.storage.arrays import load_arrays, named_arrays
from zoo.training.finishing import finish


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return open_examples(path)


def test_trained_classifier_classifies(trained, files):
    evaluation = task.evaluate(trained.classifier, open_examples(files.test), resamples=100)
    scores, gold, predicted, loss, _ = evaluation
    assert scores[0].metric == "accuracy" and scores[0].value > 95 and predicted.shape == (60, 3)
    np.testing.assert_allclose(loss, -np.log(predicted[np.arange(60), gold]).mean(), rtol=1e-5)
    assert trained.classifier.labels == ["cold", "glad", "sad"]
    assert trained.classifier.classify(["te lo sol", "nok"])[0][0] == "glad"
    check_outcomes(evaluation, 60)
    page = check_report(trained.folder, trained.classifier.card)
    log = "\n".join(trained.log)
    assert "examples from" in page.text and "step 30" not in page.text
    assert "examples from" in log and "classes: cold" in log and "dev: accuracy" in log


def test_checkpoint_restores_classifier(trained, files):
    loaded = zoo.load(trained.folder / "checkpoint")
    texts = [example.texts[0] for example in open_examples(files.test)]
    np.testing.assert_array_equal(loaded.probabilities(texts), trained.classifier.probabilities(texts))
    card = json.loads((trained.folder / "checkpoint" / "card.json").read_text("utf-8"))
    assert loaded.labels == ["cold", "glad", "sad"] and card["task"] == "classification" and card["name"] == "moods"
    assert [score["metric"] for score in card["scores"]] == ["accuracy", "macro F1", "calibration error"]
    assert card["weights"] in ("average", "best", "mean of both") and loaded.max_tokens == 32


@pytest.mark.slow
def test_stopped_run_is_finished_resumed_and_extended(files, recipe, tmp_path, interrupt_evaluation):
    """Its checkpoint is found in the folder of the run; earlier ones are kept; the log is beside the card."""

    def train(steps, log=lambda text: None, **changes):
        training = dataclasses.replace(recipe.training, steps=steps, evaluate_every=2, cooldown_steps=1, **changes)
        readers = open_examples(files.train), open_examples(files.dev)
        task.train(dataclasses.replace(recipe, training=training), *readers, tmp_path / "run", log=log)
        return zoo.load(tmp_path / "run")

    with interrupt_evaluation(1, task):
        train(3)
    _, weights = finish(tmp_path / "run")
    finished = zoo.load(tmp_path / "run")
    assert weights == "last weights, step 2" and finished.card["unfinished"] == f"{weights} of 3"
    assert finished.labels == ["cold", "glad", "sad"]
    last = load_arrays(tmp_path / "run" / "training" / "last.safetensors")[0]
    for name, array in named_arrays(finished.model).items():
        np.testing.assert_array_equal(array, last[name])

    lines = []
    whole = train(3, lines.append)
    assert "continuing from step 2 of 3" in lines and "unfinished" not in whole.card and whole.card["scores"]
    assert sorted(path.name for path in (tmp_path / "run").glob("checkpoint*")) == ["checkpoint"]
    with pytest.raises(ValueError, match="finished checkpoint.*or longer, with a larger training.steps"):
        train(3)
    with pytest.raises(ValueError, match="another recipe .*training.seed was 1"):
        train(4, warmup_steps=20, seed=9)
    lines.clear()
    longer = train(6, lines.append, warmup_steps=5)
    assert "continuing from step 3 of 6" in lines and longer.card["recipe"]["training"]["steps"] == 6
    log = (tmp_path / "run" / "checkpoint" / "log.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["step"] for line in log] == [2, 3, 4, 6]
    earlier = zoo.load(tmp_path / "run" / "checkpoint-3")
    assert earlier.card["recipe"]["training"]["steps"] == 3
    with pytest.raises(ValueError, match="finished checkpoint"):
        train(5)


def test_interrupted_run_resumes(trained, files, recipe, tmp_path, interrupt_evaluation):
    """The weights are the same; another corpus or dev set raises an error."""
    readers = open_examples(files.train), open_examples(files.dev)
    with interrupt_evaluation(2, task):
        task.train(recipe, *readers, tmp_path / "run", log=lambda text: None)
    other = write(tmp_path / "other.tsv", ["glad\tsol", "sad\tnok", "cold\tfris"])
    with pytest.raises(ValueError, match="started with another corpus"):
        task.train(recipe, other, readers[1], tmp_path / "run", log=lambda text: None)
    with pytest.raises(ValueError, match="started with another dev set"):
        task.train(recipe, readers[0], other, tmp_path / "run", log=lambda text: None)
    resumed = task.train(recipe, *readers, tmp_path / "run", log=lambda text: None)
    expected = named_arrays(trained.classifier.model)
    for name, array in named_arrays(resumed.model).items():
        np.testing.assert_array_equal(array, expected[name], err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("pooling", ["first", "attention"])
def test_pairs_of_texts_and_poolings(recipe, tmp_path, pooling):
    """The class says whether the second text contains the first, so the model must read both."""
    rng, words = np.random.default_rng(0), ["te", "lo", "kir"]
    lines = []
    for _ in range(400):
        first, second = rng.choice(words), rng.choice(words, 2)
        lines.append(f"{first in second}\t{first}\t{' '.join(second)}")
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    corpus = open_examples(path, columns=(0, 1, 2))
    changes = [f"model.pooling={pooling}", "training.steps=240", "training.warmup_steps=40"]
    pairs = task.train(override(recipe, changes), corpus, corpus, tmp_path / "run", log=lambda text: None)
    assert (pairs.model.config.num_texts, pairs.model.config.num_segments) == (2, 2)
    scores = task.evaluate(pairs, corpus, resamples=0).scores
    assert scores[0].value > 75, "a model that only reads the second text has an accuracy of two thirds"
    loaded = zoo.load(tmp_path / "run" / "checkpoint")
    assert loaded.classify([("te", "lo te"), ("te", "lo kir")]) == pairs.classify([("te", "lo te"), ("te", "lo kir")])
    for wrong in (["te", "lo"], [("te", "lo", "kir")]):
        with pytest.raises(ValueError, match=r"a list of pairs of strings. Received: texts\[0\]="):
            pairs.classify(wrong)


def test_invalid_arguments_raise(recipe, tmp_path, files):
    train, dev = open_examples(files.train), open_examples(files.dev)
    unknown = write(tmp_path / "unknown.tsv", ["glad\tsol", "angry\tsol"])
    with pytest.raises(ValueError, match="Line 2 has the class 'angry', which is not in the training data"):
        task.train(recipe, train, unknown, tmp_path / "a", log=lambda text: None)
    with pytest.raises(ValueError, match="at least two classes"):
        task.train(recipe, write(tmp_path / "one.tsv", ["glad\tsol"]), dev, tmp_path / "b", log=lambda text: None)
    with pytest.raises(ValueError, match="dev corpus must have examples"):
        task.train(recipe, train, write(tmp_path / "none.tsv", []), tmp_path / "c", log=lambda text: None)
    bleu = dataclasses.replace(recipe, training=dataclasses.replace(recipe.training, score="bleu"))
    with pytest.raises(ValueError, match="`score` must be one of accuracy, macro_f1, loss"):
        task.train(bleu, train, dev, tmp_path / "d", log=lambda text: None)


def test_lowercase_vocabulary(recipe, files, tmp_path, trained):
    asked = override(recipe, ["training.lowercase=true", "training.steps=30"])
    corpora = open_examples(files.train), open_examples(files.dev)
    learned = task.train(asked, *corpora, tmp_path / "a", log=lambda text: None)
    assert learned.tokenizer.lowercase and not trained.classifier.tokenizer.lowercase
    assert learned.classify(["TE LO SOL"]) == learned.classify(["te lo sol"])
    with pytest.raises(ValueError, match="`lowercase` is for a vocabulary learned from the corpus"):
        task.train(asked, *corpora, tmp_path / "b", initial=trained.classifier, log=lambda text: None)


def test_evaluation_without_examples_raises(trained, tmp_path):
    with pytest.raises(ValueError, match="Most lines of the corpus .* must have an example"):
        task.evaluate(trained.classifier, write(tmp_path / "none.tsv", ["", ""]))
