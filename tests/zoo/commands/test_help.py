"""Tests of the help of every command: it is printed, and says what each argument is and its default."""

import argparse

import pytest

from zoo.__main__ import parser
from zoo.classification.__main__ import ClassificationCommands
from zoo.detection.__main__ import DetectionCommands
from zoo.images.__main__ import ImageCommands
from zoo.labelling.__main__ import LabellingCommands
from zoo.language_modelling.__main__ import LanguageModellingCommands
from zoo.parsing.__main__ import ParsingCommands
from zoo.pretraining.__main__ import PretrainingCommands
from zoo.recognition.__main__ import RecognitionCommands
from zoo.translation.__main__ import TranslationCommands

TASKS = (
    ClassificationCommands,
    DetectionCommands,
    ImageCommands,
    LabellingCommands,
    LanguageModellingCommands,
    ParsingCommands,
    PretrainingCommands,
    RecognitionCommands,
    TranslationCommands,
)
PARSERS = [parser(), *(task().parser() for task in TASKS)]


def subparsers(parser):
    """Returns the parser of each command by its name."""
    return next(action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))


COMMANDS = {command.prog: command for found in PARSERS for command in subparsers(found).values()}


def test_all_commands_are_found():
    """By the lines of the modules that define them: 11 of `zoo`, 5 of each task, 4 more of two tasks."""
    assert len(COMMANDS) == 11 + 9 * 5 + 6
    assert {name.split()[2] for name in COMMANDS} == {"zoo", *(f"zoo.{task.task}" for task in TASKS)}


@pytest.mark.parametrize("found", PARSERS, ids=lambda found: found.prog)
def test_help_lists_the_commands(found, capsys):
    with pytest.raises(SystemExit, match="0"):
        found.parse_args(["--help"])
    printed = capsys.readouterr().out
    assert all(f"\n    {name}" in printed for name in subparsers(found))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_says_what_each_argument_is_and_its_default(name, capsys):
    with pytest.raises(SystemExit, match="0"):
        COMMANDS[name].parse_args(["--help"])
    printed = capsys.readouterr().out
    assert f"usage: {name}" in printed and "%(" not in printed and "%%" not in printed
    for action in COMMANDS[name]._actions:
        assert action.help, action
        if action.option_strings and action.default not in (None, False, [], "", argparse.SUPPRESS):
            assert "default" in action.help, action
