"""The base class of the command lines of tasks: `train`, `evaluate`, a command that predicts, and `export`."""

import argparse
import functools
import importlib
import sys
from collections.abc import Callable, Iterable
from typing import Any

import zoo
from zoo.commands import command_line
from zoo.commands.card_values import read_card_values
from zoo.commands.command_line import LIMITS, check_writable, given_arguments, given_command, log, progress_bar
from zoo.commands.export_formats import check_format, is_saved_model, write_format
from zoo.commands.task_arguments import TaskArguments
from zoo.config import Recipe, change_recipe
from zoo.corpora.held_out import hold_out
from zoo.extras import require
from zoo.text.terminal import print_result, working


class TaskCommands(TaskArguments):
    """Defines and runs the commands of a task."""

    def read(self, options: argparse.Namespace, prefix: str = "") -> Any:
        """Returns the corpus that the arguments of `add_corpus` select."""
        raise NotImplementedError

    def predictions(
        self, predictor: Any, lines: list[str], options: argparse.Namespace, progress: Callable[[int], None]
    ) -> Iterable[str]:
        """Predicts a part of the lines of text; returns the lines to print.

        Args:
            predictor: The predictor of the checkpoint.
            lines: The lines; `options.first` is the number of the first one among all lines, from 1.
            options: The arguments of the command.
            progress: An argument of the predictor.
        """
        raise NotImplementedError

    def check(self, command: str, options: argparse.Namespace) -> None:
        """Raises the errors that a command would otherwise meet after its work, such as a missing package."""
        check_writable(getattr(options, "report", None))
        if command == "export":
            check_format(options)
            if self.reads_text and is_saved_model(options) and not getattr(options, "ids_only", False):
                require("A model that takes text", "tensorflow_text")

    def train_data(self, options: argparse.Namespace) -> Any:
        """Returns the training corpus, which may be a prepared one."""
        return self.read(options)

    def corpora(self, options: argparse.Namespace) -> tuple[Any, Any]:
        """Returns the training set and the dev set, which may be a share of the same corpus."""
        given = options.dev_data or getattr(options, "dev_source", None) or getattr(options, "dev_target", None)
        if bool(given) == (options.dev_share is not None):
            files = "--dev-source and --dev-target, or --dev-data" if hasattr(options, "dev_source") else "--dev-data"
            raise ValueError(
                f"`train` needs a dev set, which selects the weights. Received: {'two' if given else 'none'}. Pass "
                f"either {files}, or --dev-share 0.02, which takes 2 % of the training corpus."
            )
        if given:
            return self.train_data(options), self.read(options, "dev-")
        train = self.train_data(options)
        if not hasattr(train, "part"):
            raise ValueError("A prepared corpus cannot be divided. Received: --dev-share. Pass a dev set instead.")
        return hold_out(train, options.dev_share)

    def card(self, options: argparse.Namespace) -> dict:
        """Returns values for the card of the checkpoint; those of `--card` take precedence."""
        return {}

    def load(self, options: argparse.Namespace) -> Any:
        """Loads the predictor of `--checkpoint`."""
        return self.load_one(options.checkpoint, options)

    def load_one(self, name: str, options: argparse.Namespace) -> Any:
        """Loads a predictor for a command, with the `settings` that are given as options.

        Raises:
            ValueError: If it is one of another task.
        """
        with working(f"loading {name}"):
            predictor = zoo.load(name, options.dtype)
        if not self.suits(predictor, options):
            other = f", or python -m zoo.{predictor.task}" if predictor.task in zoo.tasks() else ""
            raise ValueError(
                f"--checkpoint must be a model of the task {self.task}. Received: {name}, of the task "
                f"{predictor.task}. Use another one{other}."
            )
        names = [name for name in self.settings if hasattr(options, name)]
        for name, value in given_arguments(options, names).items():
            setattr(predictor, name, value)
        return predictor

    def suits(self, predictor: Any, options: argparse.Namespace) -> bool:
        """Returns whether a loaded predictor is one for the command."""
        return predictor.task == self.task

    def recipe(self, options: argparse.Namespace) -> Recipe:
        """Returns the recipe that the arguments of `train` select."""
        return change_recipe(self.recipes[options.recipe], options.set)

    def run_train(self, options: argparse.Namespace) -> None:
        """Trains a model, or resumes a training run; writes a checkpoint."""
        from zoo.distribution.current import current_workers
        from zoo.text.vocabularies import load_vocabulary

        train, dev = self.corpora(options)
        strategy = command_line.make_strategy(options.strategy, options.cross_device_ops, options.model_devices)
        report = log if current_workers(strategy).chief else lambda text: None
        card = {"command": given_command(self.task), **self.card(options)}
        card |= read_card_values(options.card)
        self.module().train(
            self.recipe(options),
            train=train,
            dev=dev,
            folder=options.output,
            card=card,
            tokenizer=load_vocabulary(options.vocabulary) if self.reads_text and options.vocabulary else None,
            initial=zoo.load(options.initial) if options.initial else None,
            log=report,
            strategy=strategy,
        )
        report(f"written: {options.output.rstrip('/')}/checkpoint")

    def run_finish(self, options: argparse.Namespace) -> None:
        """Writes a checkpoint from a training run that has not ended; the run can still be resumed."""
        from zoo.training.finishing import finish

        folder, weights = finish(options.folder, options.weights)
        log(f"written: {folder} ({weights})")

    def evaluation(self, predictor: Any, options: argparse.Namespace) -> Any:
        """Evaluates a predictor on the corpus of `evaluate`; returns the `zoo.training.tasks.Evaluation`."""
        with progress_bar(None, "evaluate") as advance:
            return self.module().evaluate(predictor, self.read(options), progress=advance)

    def print_details(self, predictor: Any, evaluation: Any, options: argparse.Namespace) -> None:
        """Prints what `evaluate` prints after the scores, and writes its further files."""

    def run_evaluate(self, options: argparse.Namespace) -> None:
        """Prints the scores of a model on a corpus, with their 95 % intervals."""
        predictor = self.load(options)
        evaluation = self.evaluation(predictor, options)
        for score in evaluation.scores:
            print(score)
        self.print_details(predictor, evaluation, options)
        if options.report:
            from zoo.reports.reports import write_evaluation

            write_evaluation(options.report, predictor, evaluation, given_command(self.task))
            log(f"written: {options.report}")

    def run_predict(self, options: argparse.Namespace) -> None:
        """Prints the predictions for standard input or files, line by line."""
        texts = command_line.read_texts(options)
        predictor = self.load(options)
        total = functools.partial(command_line.count_texts, options)
        with progress_bar(total, self.predict, shown=not sys.stdout.isatty()) as advance:
            options.first = 1
            for chunk in command_line.text_chunks(texts, options):
                for text in self.predictions(predictor, chunk, options, lambda count: None):
                    print_result(text)
                sys.stdout.flush()
                advance(len(chunk))
                options.first += len(chunk)

    def run_export(self, options: argparse.Namespace) -> None:
        """Writes a model that does not need this package, by default a SavedModel."""
        predictor = self.load(options)
        with working(f"exporting to {options.output}"):
            if is_saved_model(options):
                self.export(predictor, options)
            else:
                write_format(predictor, options)
        log(f"written: {options.output}")

    def export(self, predictor: Any, options: argparse.Namespace) -> None:
        """Writes a SavedModel for `export`."""
        predictor.export(options.output, **given_arguments(options, LIMITS))

    def module(self) -> Any:
        """Returns the module `task.py` of the task, whose import loads Keras."""
        return importlib.import_module(f"zoo.{self.task}.task")

    def main(self, arguments: list[str] | None = None) -> int:
        """Runs a command; returns the exit status, 2 for an error of the caller, which is printed in one line."""
        return command_line.run(self.parser(), arguments)
