"""Averages of checkpoints from the command line."""

import dataclasses
import shutil

import numpy as np
import pytest

import zoo
from zoo.__main__ import main
from zoo.commands.averaging import average
from zoo.storage.arrays import assign_arrays, named_arrays
from zoo.storage.checkpoints import read_card


@pytest.fixture
def tuned(trained, tmp_path):
    """Returns the folder of a checkpoint with other weights, as of another training run."""
    model = zoo.load(trained.folder)
    for variable in model.model.trainable_variables:
        variable.assign(np.asarray(variable) * 0.9 + 0.001)
    model.save(tmp_path / "tuned")
    return tmp_path / "tuned"


def test_weights_are_the_mean_and_the_card_says_of_what(trained, tuned, tmp_path, capsys):
    original = trained.folder / "checkpoint"
    assert main(["average", str(original), str(tuned), str(tuned), "--output", str(tmp_path / "mean")]) == 0
    one, other, mean = (named_arrays(zoo.load(folder).model) for folder in (original, tuned, tmp_path / "mean"))
    for name, array in mean.items():
        expected = (np.asarray(one[name], "float64") + 2 * np.asarray(other[name], "float64")) / 3
        np.testing.assert_allclose(array, expected, atol=1e-6)
    card = read_card(tmp_path / "mean")
    assert [source["sha256"] for source in card["average_of"]] == [
        read_card(folder)["files"]["model.safetensors"] for folder in (original, tuned, tuned)
    ]
    assert "scores" not in card  # Those of the first are not those of the mean.
    assert main(["average", str(original), str(tuned), "--output", str(tmp_path / "mean")]) == 2
    assert "exists" in capsys.readouterr().err


def test_known_words_are_those_of_all(trained, tmp_path):
    """Runs on other corpora know other words."""
    for name, words in (("one", "a b"), ("two", "b c")):
        translator = zoo.load(trained.folder)
        translator.placeholders, translator.known_words = True, words
        translator.save(tmp_path / name)
    average([str(tmp_path / "one"), str(tmp_path / "two")], tmp_path / "mean")
    assert zoo.load(tmp_path / "mean").known_words == "a b c"


def test_runs_may_differ_in_dropout(trained, tmp_path):
    one = zoo.load(trained.folder)
    model = type(one.model)(dataclasses.replace(one.model.config, dropout=0.45))
    model.build()
    assign_arrays(model, named_arrays(one.model), "The copy")
    type(one)(model, one.tokenizer, one.card).save(tmp_path / "two")
    average([str(trained.folder / "checkpoint"), str(tmp_path / "two")], tmp_path / "mean")
    np.testing.assert_allclose(
        *([*named_arrays(zoo.load(tmp_path / name).model).values()][0] for name in ("two", "mean")), atol=1e-6
    )


def test_what_does_not_fit_is_refused(trained, tuned, tmp_path, capsys):
    original, output = str(trained.folder / "checkpoint"), ["--output", str(tmp_path / "mean")]
    assert main(["average", original, *output]) == 2
    assert "at least two checkpoints" in capsys.readouterr().err
    assert main(["average", original, "translation/en-de", *output]) == 2
    assert "the same sizes" in capsys.readouterr().err
    assert main(["average", original, "classification/sst2-small", *output]) == 2
    assert "the same task" in capsys.readouterr().err
    assert main(["average", original, "nothing/there", *output]) == 2
    assert not (tmp_path / "mean").exists()
    shutil.rmtree(tuned)
