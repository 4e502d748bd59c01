"""The page that adds a task: its files, written as they stand there, train, evaluate and predict."""

import importlib
import pathlib
import random
import re

import pytest

import zoo

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "adding-a-task.md"
FILE = re.compile(r"`zoo/(capitals/\w+\.py)`[^`]*```python\n(.*?)```", re.DOTALL)


@pytest.fixture
def command(tmp_path, monkeypatch):
    """The command line of the page's task."""
    (tmp_path / "zoo" / "capitals").mkdir(parents=True)
    (tmp_path / "zoo" / "capitals" / "__init__.py").touch()
    for name, content in FILE.findall(PAGE.read_text("utf-8")):
        (tmp_path / "zoo" / name).write_text(content, "utf-8")
    monkeypatch.setattr(zoo, "__path__", [*zoo.__path__, str(tmp_path / "zoo")])
    return importlib.import_module("zoo.capitals.__main__").COMMANDS.main


def sentences(count, seed):
    """Names and abbreviations have capitals, and so has the first word."""
    rng = random.Random(seed)
    for _ in range(count):
        words = rng.choices(["te", "lo", "pana", "Berlin", "Tom", "NATO", "kir"], k=rng.randint(2, 7))
        yield " ".join([words[0][0].upper() + words[0][1:], *words[1:]])


@pytest.mark.slow
def test_the_page_adds_a_task(command, tmp_path, capsys):
    assert len(PAGE.read_text("utf-8").splitlines()) < 150
    assert "capitals" in zoo.tasks()
    for name, count, seed in (("train", 300, 1), ("dev", 40, 2), ("test", 40, 3)):
        (tmp_path / f"{name}.txt").write_text("\n".join(sentences(count, seed)) + "\n", "utf-8")
    changes = (
        "model.vocabulary_size=320 model.num_layers=1 model.hidden_dim=32 model.intermediate_dim=32 model.dropout=0"
    )
    changes += " training.batch_tokens=512 training.steps=200 training.evaluate_every=100 training.warmup_steps=10"
    changes += " training.cooldown_steps=60 training.peak_learning_rate=0.01 training.label_smoothing=0"
    options = [part for change in changes.split() for part in ("--set", change)]
    data = ["--data", str(tmp_path / "train.txt"), "--dev-data", str(tmp_path / "dev.txt")]
    assert command(["train", *data, "--output", str(tmp_path / "run"), *options]) == 0
    checkpoint = ["--checkpoint", str(tmp_path / "run" / "checkpoint")]
    assert command(["evaluate", *checkpoint, "--data", str(tmp_path / "test.txt")]) == 0
    name, value = capsys.readouterr().out.split()[:2]
    assert name == "accuracy" and float(value) > 98
    assert command(["capitalize", *checkpoint, "--text", "te tom lo nato", "--text", ""]) == 0
    assert capsys.readouterr().out == "Te Tom lo NATO\n\n"
    assert zoo.load(tmp_path / "run" / "checkpoint").restore(["pana berlin"]) == ["Pana Berlin"]
