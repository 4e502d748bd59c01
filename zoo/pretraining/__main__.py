"""Command line: `python -m zoo.pretraining train | evaluate`."""

import sys

from zoo.commands import command_line
from zoo.commands.task_commands import TaskCommands
from zoo.pretraining.data import open_texts
from zoo.pretraining.recipes import RECIPES


class PretrainingCommands(TaskCommands):
    task, recipes = "pretraining", RECIPES

    def add_corpus(self, command, prefix=""):
        command_line.add_corpus(command, prefix, "file with a text a line", "a TSV or .csv file", "its texts")

    def read(self, options, prefix=""):
        return open_texts(**command_line.given_arguments(options, command_line.CORPUS, prefix))


COMMANDS = PretrainingCommands()
main = COMMANDS.main

if __name__ == "__main__":
    sys.exit(main())
