"""Tests of `python -m zoo.classification`."""

import io
import sys

import pytest

from zoo.classification.__main__ import main


@pytest.fixture(scope="module")
def checkpoint(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("command") / "run"
    changes = [
        "training.steps=2",
        "training.cooldown_steps=0",
        "training.evaluate_every=2",
        "model.vocabulary_size=320",
    ]
    arguments = ["--data", str(files.train), "--dev-data", str(files.dev), "--output", str(folder)]
    assert main(["train", *arguments, *(word for change in changes for word in ("--set", change))]) == 0
    return folder / "checkpoint"


def test_evaluate(checkpoint, files, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    picture = tmp_path / "confusion.svg"
    arguments = ["evaluate", "--checkpoint", str(checkpoint), "--data", str(files.test), "--picture", str(picture)]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "accuracy" in printed and "macro F1" in printed and "n:60|classes:3" in printed
    assert all(name in printed for name in ("cold", "glad", "sad")) and picture.exists()


def test_classify_files_and_standard_input(checkpoint, tmp_path, capsys, monkeypatch):
    path = tmp_path / "texts.txt"
    path.write_text("te sol\n\nnok\n", "utf-8")
    assert main(["classify", "--checkpoint", str(checkpoint), str(path)]) == 0
    of_file = capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert main(["classify", "--checkpoint", str(checkpoint)]) == 0
    assert capsys.readouterr().out == of_file
    assert main(["classify", "--checkpoint", str(checkpoint), "--text", "te sol"]) == 0
    assert capsys.readouterr().out == of_file.splitlines(keepends=True)[0]
    for line in of_file.splitlines():
        label, probability = line.split("\t")
        assert label in ("cold", "glad", "sad") and 1 / 3 < float(probability) <= 1
    assert len(of_file.splitlines()) == 3


def test_truncated_texts_are_logged(checkpoint, files, tmp_path, capsys):
    path = tmp_path / "long.txt"
    path.write_text("te\n" + "te sol " * 400 + "\nnok\n", "utf-8")
    assert main(["classify", "--checkpoint", str(checkpoint), str(path)]) == 0
    captured = capsys.readouterr()
    assert "1 texts of more than 512 tokens were truncated; the first is number 2" in captured.err
    assert len(captured.out.splitlines()) == 3
    path.write_text("sad\t" + "te sol " * 400 + "\nglad\tsol\n", "utf-8")
    assert main(["evaluate", "--checkpoint", str(checkpoint), "--data", str(path)]) == 0
    assert "1 texts of more than 512 tokens were truncated; the first is number 1" in capsys.readouterr().err


@pytest.mark.slow
def test_export(checkpoint, tmp_path, capsys):
    pytest.importorskip("tensorflow_text", reason="tensorflow-text is not installed")
    arguments = ["export", "--checkpoint", str(checkpoint), "--output", str(tmp_path / "served")]
    assert main(arguments) == 0 and (tmp_path / "served" / "saved_model.pb").exists()
    assert main(arguments) == 2 and "nothing is overwritten" in capsys.readouterr().err


def test_errors_are_one_line(checkpoint, files, tmp_path, capsys):
    (tmp_path / "unknown.tsv").write_text("angry\tsol\n", "utf-8")
    (tmp_path / "short.tsv").write_text("sol\n", "utf-8")
    for arguments, message in (
        (
            ["evaluate", "--checkpoint", str(checkpoint), "--data", str(tmp_path / "unknown.tsv")],
            "Line 1 has the class",
        ),
        (
            ["evaluate", "--checkpoint", str(checkpoint), "--data", str(tmp_path / "short.tsv")],
            "line 1, must have all columns",
        ),
        (["classify", "--checkpoint", str(tmp_path), "--text", "x"], "is neither the name of a checkpoint"),
        (["evaluate", "--checkpoint", str(checkpoint), "--data", str(tmp_path / "none.tsv")], "does not exist"),
    ):
        assert main(arguments) == 2
        printed = capsys.readouterr().err.strip().splitlines()[-1]
        assert printed.startswith("error: ") and message in printed
