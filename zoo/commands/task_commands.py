"""The base class of the command lines of tasks: `train`, `evaluate`, a command that predicts, and `export`."""

import argparse
import importlib
import pathlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import zoo
from zoo.commands import command_line
from zoo.commands.command_line import LIMITS, add_command, given_arguments, log, progress_bar
from zoo.config import Recipe
from zoo.text.terminal import print_result


class TaskCommands:
    """Defines and runs the commands of a task. The docstrings of the methods `run_*` are the help of the commands.

    Attributes:
        task: The folder of the task in `zoo`.
        recipes: Recipes by name.
        predict: Name of the command that predicts, such as "classify"; None for neither that command nor `export`.
        default_checkpoint: Default of `--checkpoint`; None if the option is required.
    """

    task: str
    recipes: Mapping[str, Recipe]
    predict: str | None = None
    default_checkpoint: str | None = None

    def add_corpus(self, command: argparse.ArgumentParser, prefix: str = "") -> None:
        """Adds the arguments of a corpus, whose names start with the prefix: "" or "dev-"."""
        raise NotImplementedError

    def read(self, options: argparse.Namespace, prefix: str = "") -> Any:
        """Returns the corpus that the arguments of `add_corpus` select."""
        raise NotImplementedError

    def predictions(
        self, predictor: Any, lines: list[str], options: argparse.Namespace, progress: Callable[[int], None]
    ) -> Iterable[str]:
        """Predicts lines of text; returns the lines to print."""
        raise NotImplementedError

    def add_evaluate(self, command: argparse.ArgumentParser) -> None:
        """Adds further arguments of `evaluate`."""

    def add_predict(self, command: argparse.ArgumentParser) -> None:
        """Adds further arguments of the command that predicts."""

    def train_data(self, options: argparse.Namespace) -> Any:
        """Returns the training corpus, which may be a prepared one."""
        return self.read(options)

    def card(self, options: argparse.Namespace) -> dict:
        """Returns values for the card of the checkpoint; those of `--card` take precedence."""
        return {}

    def run_train(self, options: argparse.Namespace) -> None:
        """Trains a model, or resumes a training run; writes a checkpoint."""
        dev = self.read(options, "dev-")
        arguments = command_line.training_arguments(options, self.recipes, f"zoo.{self.task}")
        arguments["card"] = {**self.card(options), **arguments["card"]}
        self.module().train(train=self.train_data(options), dev=dev, **arguments)
        arguments["log"](f"written: {pathlib.Path(options.output) / 'checkpoint'}")

    def run_evaluate(self, options: argparse.Namespace) -> None:
        """Prints the scores of a model on a corpus, with their 95 % intervals."""
        for score in self.module().evaluate(zoo.load(options.checkpoint), self.read(options)).scores:
            print(score)

    def run_predict(self, options: argparse.Namespace) -> None:
        """Prints the predictions for standard input or files, line by line."""
        lines = command_line.read_texts(options)
        predictor = zoo.load(options.checkpoint)
        with progress_bar(len(lines), self.predict) as advance:
            results = [*self.predictions(predictor, lines, options, advance)]
        for text in results:
            print_result(text)

    def run_export(self, options: argparse.Namespace) -> None:
        """Writes a SavedModel, which does not need this package."""
        zoo.load(options.checkpoint).export(options.output, **given_arguments(options, LIMITS))
        log(f"written: {options.output}")

    def module(self) -> Any:
        """Returns the module `task.py` of the task, whose import loads Keras."""
        return importlib.import_module(f"zoo.{self.task}.task")

    def main(self, arguments: list[str] | None = None) -> int:
        """Runs a command; returns the exit status, 2 for an error of the caller, which is printed in one line."""
        return command_line.run(self.parser(), arguments)

    def parser(self) -> argparse.ArgumentParser:
        """Returns the parser of all commands."""
        program = f"python -m zoo.{self.task}"
        parser = argparse.ArgumentParser(prog=program, description=f"Commands of the task {self.task}.")
        commands = parser.add_subparsers(required=True, metavar="COMMAND")
        self.add_commands(commands)
        return parser

    def add_commands(self, commands: Any) -> None:
        """Adds all commands to the subparsers `commands`."""
        train = add_command(commands, "train", self.run_train)
        self.add_corpus(train)
        self.add_corpus(train, "dev-")
        command_line.add_training(train, self.recipes)
        self.add_train(train)

        evaluate = add_command(commands, "evaluate", self.run_evaluate)
        self.add_checkpoint(evaluate)
        self.add_corpus(evaluate)
        self.add_evaluate(evaluate)
        if self.predict is None:
            return
        predict = add_command(commands, self.predict, self.run_predict, self.predictions.__doc__)
        self.add_checkpoint(predict)
        command_line.add_texts(predict)
        self.add_predict(predict)

        export = add_command(commands, "export", self.run_export)
        self.add_checkpoint(export)
        export.add_argument("--output", required=True, help="folder to write")
        command_line.add_limits(export)
        self.add_export(export)

    def add_train(self, command: argparse.ArgumentParser) -> None:
        """Adds further arguments of `train`."""

    def add_export(self, command: argparse.ArgumentParser) -> None:
        """Adds further arguments of `export`."""

    def add_checkpoint(self, command: argparse.ArgumentParser) -> None:
        """Adds `--checkpoint`."""
        required = self.default_checkpoint is None
        command.add_argument("--checkpoint", default=self.default_checkpoint, required=required, help="name or folder")
