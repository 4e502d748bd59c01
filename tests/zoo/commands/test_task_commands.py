"""Tests of what the commands of all tasks share: results as they come, early errors, interruptions."""

import contextlib
import io
import itertools
import os
import re
import subprocess
import sys
import tracemalloc
import types

import pytest

import zoo
from zoo.classification.__main__ import ClassificationCommands
from zoo.commands import command_line
from zoo.commands.task_commands import TaskCommands
from zoo.labelling.__main__ import LabellingCommands
from zoo.language_modelling.__main__ import LanguageModellingCommands
from zoo.parsing.__main__ import ParsingCommands
from zoo.pretraining.__main__ import PretrainingCommands
from zoo.translation.__main__ import TranslationCommands

TASKS = [
    ClassificationCommands,
    LabellingCommands,
    LanguageModellingCommands,
    ParsingCommands,
    PretrainingCommands,
    TranslationCommands,
]


class Shouting(TaskCommands):
    """A task whose predictor is a function from a list of texts to a list of texts."""

    task, recipes, predict, settings = "shouting", {"small": None}, "shout", ("loud", "of_another_command")

    def add_corpus(self, command, prefix=""):
        pass

    def add_predict(self, command):
        command.add_argument("--loud", type=int)

    def predictions(self, predictor, lines, options, progress):
        """Returns the lines in capitals."""
        return predictor(lines)


@pytest.fixture
def shout(monkeypatch):
    """Returns a function that runs the command with a predictor; its status."""

    def run(predictor, *arguments):
        predictor.task = Shouting.task
        monkeypatch.setattr(zoo, "load", lambda name, dtype: predictor)
        return Shouting().main(["shout", "--checkpoint", "any", *map(str, arguments)])

    return run


def upper(lines):
    return [line.upper() for line in lines]


@pytest.mark.parametrize("given, expected", [(["--loud", "3"], 3), ([], 1)])
def test_options_replace_settings_of_the_predictor(shout, given, expected):
    def predictor(lines):
        return lines

    predictor.loud = 1
    assert shout(predictor, "--text", "a", *given) == 0 and predictor.loud == expected


def test_values_of_the_recipe_are_set_in_one_option_or_in_several():
    options = Shouting().parser().parse_args(["train", "--set", "a=1", "b=2", "--output", "run", "--set", "c=3"])
    assert options.set == ["a=1", "b=2", "c=3"]


def test_results_come_in_the_order_of_the_files(shout, tmp_path, capsys, monkeypatch):
    lines = [f"line {number}" for number in range(1000)]
    (tmp_path / "a").write_text("".join(f"{line}\n" for line in lines[:700]), "utf-8")
    (tmp_path / "b").write_text("\n".join(lines[700:]), "utf-8")
    sizes = []
    assert shout(lambda chunk: sizes.append(len(chunk)) or upper(chunk), tmp_path / "a", tmp_path / "b") == 0
    assert capsys.readouterr() == ("".join(f"{line.upper()}\n" for line in lines), "")
    assert sizes == [32, 64, 128, 256, 512, 8], "longer parts, as they take no time here"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(lines).encode())))
    assert shout(upper) == 0 and capsys.readouterr().out.splitlines() == upper(lines)


def test_texts_and_files_exclude_each_other(shout, tmp_path, capsys):
    """A name of a checkpoint with a typing error, among several, looks like a file."""
    path = tmp_path / "lines.txt"
    path.write_text("a\n")
    assert shout(upper, path, "--text", "b") == 2
    captured = capsys.readouterr()
    assert "Pass --text or files" in captured.err and str(path) in captured.err and not captured.out


def test_folders_are_no_texts(shout, tmp_path, capsys):
    assert shout(upper, tmp_path) == 2
    assert f"Expected a file of texts. Received: {tmp_path}, which is a folder" in capsys.readouterr().err


def test_interrupted_command_leaves_its_results(shout, tmp_path, capsys):
    (tmp_path / "texts").write_text("te\n" * 5000, "utf-8")
    counts = itertools.count(1)

    def predict(chunk):
        if next(counts) == 4:
            raise KeyboardInterrupt
        return upper(chunk)

    assert shout(predict, tmp_path / "texts") == 130
    out, err = capsys.readouterr()
    assert out == "TE\n" * (32 + 64 + 128)
    assert err == "interrupted\n", "this command has no checkpoint to speak of"


def test_results_are_flushed(shout, tmp_path, monkeypatch):
    (tmp_path / "texts").write_text("te\n" * 100, "utf-8")
    written, seen = io.BytesIO(), []
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "utf-8"))
    assert shout(lambda chunk: seen.append(written.getvalue().count(b"\n")) or upper(chunk), tmp_path / "texts") == 0
    assert seen == [0, 32, 96]


def test_memory_does_not_grow_with_the_file(shout, tmp_path, monkeypatch):
    """Texts of 20 MB."""
    (tmp_path / "texts").write_text(("te sol " * 28 + "\n") * 100_000, "utf-8")
    monkeypatch.setattr(command_line, "_LONGEST_CHUNK", 256)
    with open(os.devnull, "w") as nowhere:
        monkeypatch.setattr(sys, "stdout", nowhere)
        tracemalloc.start()
        try:
            assert shout(lambda chunk: chunk, tmp_path / "texts") == 0
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 3e6


def test_bar_is_on_stderr_only(shout, tmp_path, monkeypatch, capsys):
    """Rich would write the results to stderr, too, while its bar is there."""
    console = type(command_line._errors)(file=io.StringIO(), force_terminal=True)
    monkeypatch.setattr(command_line, "_errors", console)
    (tmp_path / "texts").write_text("te\n" * 100, "utf-8")
    assert shout(upper, tmp_path / "texts") == 0
    assert capsys.readouterr().out == "TE\n" * 100
    assert "100%" in console.file.getvalue() and "TE" not in console.file.getvalue()


def test_reader_that_ends_early_is_no_error(shout, monkeypatch, capsys):
    """As `head` does."""
    read, write = os.pipe()
    os.close(read)
    duplicated = []
    monkeypatch.setattr(os, "dup2", lambda old, new: duplicated.append(new))
    with open(write, "w", 1) as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert shout(upper, "--text", "te") == 141
        monkeypatch.undo()
        with contextlib.suppress(BrokenPipeError):
            pipe.close()
    assert duplicated == [1] and capsys.readouterr().err == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")
def test_full_disk_is_one_error():
    """Not followed by another one of Python, which flushes the rest at its exit."""
    with open("/dev/full", "w") as full:
        result = subprocess.run([sys.executable, "-m", "zoo", "list"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 2
    assert re.fullmatch(r"error: .*No space left on device\n", result.stderr)


@pytest.mark.parametrize("command", ["evaluate", "predict", "export"])
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.task)
def test_checkpoints_of_other_tasks_are_refused(task, command, monkeypatch, capsys, tmp_path):
    """By all commands that load one; the command of its task is named if there is one."""
    (tmp_path / "corpus").write_text("a\tb\n")
    other = "parsing" if task.task != "parsing" else "labelling"
    monkeypatch.setattr(zoo, "load", lambda name, dtype: types.SimpleNamespace(task=loaded))
    monkeypatch.setattr(task, "check", lambda *arguments: None)
    arguments = {
        "evaluate": ["evaluate", "--data", str(tmp_path / "corpus")],
        "predict": [task.predict, "--text", "x"],
        "export": ["export", "--output", "x"],
    }[command]
    for loaded, advice in ((other, f"Use another one, or python -m zoo.{other}."), ("shouting", "Use another one.")):
        assert task().main([*arguments, "--checkpoint", "some/name"]) == 2
        error = capsys.readouterr().err.splitlines()[-1]
        assert error == (
            f"error: --checkpoint must be a model of the task {task.task}. Received: some/name, of the task {loaded}. "
            f"{advice}"
        )


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.task)
def test_missing_packages_are_found_before_the_work(task, monkeypatch, capsys, tmp_path):
    """Nothing is loaded or read before the message, which names what to install."""
    for name in ("sacrebleu", "matplotlib", "tensorflow_text", "nltk"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(zoo, "load", lambda name, dtype: pytest.fail("loaded before the check"))
    monkeypatch.setattr(task, "read", lambda *arguments: pytest.fail("read before the check"))
    commands, checkpoint = task(), ["--checkpoint", "any"]
    cases = [(["export", *checkpoint, "--output", "x"], "tensorflow-text")]
    if task is TranslationCommands:
        cases += [
            (["train", "--data", "x", "--dev-data", "x", "--output", "x"], "sacrebleu"),
            (["evaluate", *checkpoint, "--data", "x"], "sacrebleu"),
            (["export", *checkpoint, "--data", "x", "--ids-only", "--output", "x"], "sacrebleu"),
        ]
    if task is ClassificationCommands:
        cases.append((["evaluate", *checkpoint, "--data", "x", "--picture", "x.png"], "matplotlib"))
    if task is ParsingCommands:
        cases = [(["train", "--data", "x", "--dev-data", "x", "--output", "x"], "NLTK")]
        cases.append((["parse", *checkpoint, "--text", "x"], "NLTK"))
    monkeypatch.chdir(tmp_path)
    for arguments, package in cases:
        assert commands.main(arguments) == 2
        err = capsys.readouterr().err
        assert f"needs {package}. Install it: " in err and f"-m pip install {package.lower()}" in err.replace("'", "")
    assert os.listdir(tmp_path) == []


def test_files_that_cannot_be_written_are_found_before_the_work(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(zoo, "load", lambda name, dtype: pytest.fail("loaded before the check"))
    gone = str(tmp_path / "no" / "such")
    for task, arguments in (
        (TranslationCommands, ["evaluate", "--data", "x", "--hypotheses", gone]),
        (ClassificationCommands, ["evaluate", "--data", "x", "--picture", gone]),
    ):
        assert task().main([*arguments, "--checkpoint", "any"]) == 2
        assert "Expected a file in an existing folder" in capsys.readouterr().err


@pytest.mark.parametrize(("command", "resumes"), [("train", True), ("distill", True), ("translate", False)])
def test_interrupted_commands_say_whether_they_resume(command, resumes, monkeypatch, capsys):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(TranslationCommands, "read", interrupt)
    monkeypatch.setattr(zoo, "load", interrupt)
    arguments = {
        "train": ["--data", "x", "--dev-data", "x", "--output", "x"],
        "distill": ["--data", "x", "--output", "x"],
        "translate": ["--text", "x"],
    }[command]
    assert TranslationCommands().main([command, *arguments]) == 130
    expected = "interrupted; the same command continues what it has begun\n" if resumes else "interrupted\n"
    assert capsys.readouterr().err == expected
