"""Tests of `finish` on folders that look like those of training runs, and of the advice that a run gives."""

import json

import numpy as np
import pytest

from zoo.classification.__main__ import ClassificationCommands
from zoo.config import Recipe
from zoo.config_values import to_dict
from zoo.storage.arrays import save_arrays
from zoo.storage.checkpoints import Checkpoint, find, read_checkpoint, write_checkpoint
from zoo.storage.lock import folder_lock
from zoo.training.advice import stagnant_score
from zoo.training.finishing import check_model, finish


def weights(value):
    return {"kernel": np.full((2, 3), value, "float32")}


@pytest.fixture
def run(tmp_path):
    """A run of 100,000 steps, evaluated at 10 and 20 and stopped at 25."""
    folder = tmp_path / "run"
    (folder / "training").mkdir(parents=True)
    recipe = to_dict(Recipe())
    (folder / "recipe.json").write_text(json.dumps(recipe))
    card = {"task": "classification", "name": "mine", "recipe": {**recipe, "model": {"x": 1}}}
    write_checkpoint(folder / "start", Checkpoint(card, {"width": 3}, weights(0), b"vocabulary"))
    for step in (10, 20):
        save_arrays(folder / "training" / f"step-{step:07d}.safetensors", weights(step))
    save_arrays(folder / "training" / "best.safetensors", weights(10), {"step": 10, "score": 0.5})
    save_arrays(folder / "training" / "last.safetensors", weights(25), {"step": 25})
    (folder / "training" / "log.jsonl").write_text('{"step": 10}\n{"step": 20}\n')
    return folder


@pytest.mark.parametrize(
    ("choice", "value", "description"),
    [
        (None, 10, "best weights on dev, step 10"),
        ("best", 10, "best weights on dev, step 10"),
        ("average", 15, "average of the weights at 10, 20"),
        ("last", 25, "last weights, step 25"),
    ],
)
def test_finish_writes_a_checkpoint(run, choice, value, description):
    assert finish(run, choice) == (run / "checkpoint", description)
    found = read_checkpoint(find(run))
    np.testing.assert_array_equal(found.arrays["kernel"], weights(value)["kernel"])
    assert (found.config["width"], found.vocabulary) == (3, b"vocabulary")
    assert (found.card["name"], found.card["unfinished"]) == ("mine", f"{description} of 100,000")
    assert found.card["recipe"]["model"] == {"x": 1} and found.card["recipe"]["training"]["steps"] == 100_000
    assert (run / "checkpoint" / "log.jsonl").read_text().count("\n") == 2, "the log is kept beside the card"
    finish(run, "last")  # Replaces it.
    np.testing.assert_array_equal(read_checkpoint(find(run)).arrays["kernel"], weights(25)["kernel"])
    assert sorted(path.name for path in run.glob("checkpoint*")) == ["checkpoint"]


def test_finish_command(run, capsys):
    assert ClassificationCommands().main(["finish", str(run), "--weights", "last"]) == 0
    assert f"written: {run / 'checkpoint'} (last weights, step 25)" in capsys.readouterr().err.replace("\n", "")
    assert ClassificationCommands().main(["finish", str(run.parent)]) == 2
    assert "error: Expected the folder of a training run" in capsys.readouterr().err


def test_finish_before_the_first_evaluation(run):
    for path in (run / "training").glob("*"):
        if path.name != "last.safetensors":
            path.unlink()
    assert finish(run)[1] == "last weights, step 25"
    with pytest.raises(ValueError, match="no best weights yet: it was neither evaluated nor stopped"):
        finish(run, "best")
    (run / "training" / "last.safetensors").unlink()
    with pytest.raises(ValueError, match="no last weights yet"):
        finish(run)


def test_finish_refuses_other_folders(run, tmp_path):
    with pytest.raises(ValueError, match="Expected the folder of a training run. .*, which has run"):
        finish(run.parent)
    with pytest.raises(ValueError, match="which does not exist"):
        finish(tmp_path / "gone")
    with folder_lock(run), pytest.raises(ValueError, match="in use by another process"):
        finish(run)
    finish(run)
    checkpoint = read_checkpoint(run / "checkpoint")
    checkpoint.card.pop("unfinished")
    write_checkpoint(tmp_path / "whole", checkpoint)
    (run / "checkpoint").rename(tmp_path / "old")
    (tmp_path / "whole").rename(run / "checkpoint")
    with pytest.raises(ValueError, match="is finished already"):
        finish(run)


def test_find_says_what_is_in_the_folder(run, tmp_path):
    with pytest.raises(ValueError, match="a training run without a checkpoint: resume it, or write one by the command"):
        find(run)
    with pytest.raises(ValueError, match="The folder has last.safetensors, log.jsonl"):
        (run / "training" / "best.safetensors").unlink()
        find(run / "training")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="The folder is empty"):
        find(tmp_path / "empty")


def test_resuming_with_another_model_names_the_settings(run, tmp_path):
    config = Recipe().model
    check_model(tmp_path / "new", config)
    (run / "start" / "config.json").write_text(json.dumps({**to_dict(config), "hidden_dim": 64, "labels": ["a"]}))
    message = r"started with another model \(hidden_dim was 64, now 512\)"
    with pytest.raises(ValueError, match=message):
        check_model(run, config)


def figures(*pairs):
    return [{"dev_loss": loss, "score": score} for loss, score in pairs]


@pytest.mark.parametrize(
    ("history", "warns"),
    [
        (figures((4, 0.3), (3, 0.2), (2, 0.3), (1, 0.1)), True),
        (figures((4, 0.3), (3, 0.2), (2, 0.3), (1, 0.4)), False),  # It rises.
        (figures((4, 0.3), (3, 0.2), (3.5, 0.3), (1, 0.1)), False),  # The loss does not fall.
        (figures((3, 0.2), (2, 0.3), (1, 0.1)), False),  # Too early.
        (figures((5, 9.0), (4, 0.3), (3, 0.2), (2, 0.3), (1, 0.1)), False),  # It has fallen, which has other causes.
        ([{"score": 1.0}] * 9, False),
    ],
)
def test_warning_when_the_loss_falls_and_the_score_does_not_rise(history, warns):
    warning = stagnant_score(history)
    assert bool(warning) is warns
    if warns:
        assert "dev_loss fell from 4 to 1, but the score did not rise above 0.3" in warning
