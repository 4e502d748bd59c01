"""Tests of `python -m zoo.labelling`."""

import pytest

from zoo.labelling.__main__ import main

CORPUS = "te\tX\nlo\tY\n\nlo\tY\npana\tX\n\n" * 20


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("command")
    (folder / "corpus.tsv").write_text(CORPUS, "utf-8")
    sizes = {"vocabulary_size": 270, "num_layers": 1, "hidden_dim": 16, "intermediate_dim": 16, "dropout": 0}
    changes = [f"model.{name}={size}" for name, size in sizes.items()]
    changes += ["training.steps=60", "training.warmup_steps=10", "training.cooldown_steps=30"]
    changes += ["training.evaluate_every=30", "training.peak_learning_rate=0.01"]
    corpus = str(folder / "corpus.tsv")
    arguments = ["--data", corpus, "--dev-data", corpus, "--output", str(folder / "run")]
    assert main(["train", *arguments, *(word for change in changes for word in ("--set", change))]) == 0
    return folder / "run" / "checkpoint"


def test_evaluate_and_tag(checkpoint, capsys):
    assert main(["evaluate", "--checkpoint", str(checkpoint), "--data", str(checkpoint.parents[1] / "corpus.tsv")]) == 0
    assert "accuracy 100.00" in capsys.readouterr().out
    assert main(["tag", "--checkpoint", str(checkpoint), "--text", " te  lo ", "--text", "", "--text", "pana"]) == 0
    assert capsys.readouterr().out == "te_X lo_Y\n\npana_X\n"


def test_raw_text_is_split_into_words_as_for_the_parser(checkpoint, capsys):
    command = ["tag", "--checkpoint", str(checkpoint), "--text", 'te "lo" pana.']
    words = []
    for options in ([], ["--tokenised"]):
        assert main([*command, *options]) == 0
        words.append([pair.rpartition("_")[0] for pair in capsys.readouterr().out.split()])
    assert words == [["te", '"', "lo", '"', "pana", "."], ["te", '"lo"', "pana."]]


def test_errors_are_one_line(checkpoint, tmp_path, capsys):
    (tmp_path / "a.tsv").write_text("te\tX\nlo\n", "utf-8")
    assert main(["evaluate", "--checkpoint", str(checkpoint), "--data", str(tmp_path / "a.tsv")]) == 2
    printed = capsys.readouterr().err.strip().splitlines()[-1]
    assert printed.startswith("error: ") and "line 2, has 1 columns; 2 were expected" in printed
