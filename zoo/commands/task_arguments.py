"""The arguments of the commands of tasks."""

import argparse
import functools
from collections.abc import Mapping
from typing import Any

from zoo.commands import command_line
from zoo.commands.export_formats import add_format
from zoo.config import Recipe
from zoo.training_config import DTYPES


class TaskArguments:
    """Adds the arguments of the commands of a task, which are methods `run_*`; their docstrings are the help.

    Attributes:
        task: The folder of the task in `zoo`.
        recipes: Recipes by name.
        predict: Name of the command that predicts, such as "classify"; None for neither that command nor `export`.
        default_checkpoint: Default of `--checkpoint`; None if the option is required.
        details: Help text of what `evaluate` prints beside scores.
        reads_text: Whether models have a vocabulary.
        reads_files: Whether models predict from files, such as images, not from lines of text.
        settings: Options of commands that replace a setting of the loaded predictor, if given.
        formats: What `export` writes beside a SavedModel: names in `zoo.conversion.runtime_formats.FORMATS`.
    """

    task: str
    recipes: Mapping[str, Recipe]
    predict: str | None = None
    default_checkpoint: str | None = None
    details: str = ""
    reads_text: bool = True
    reads_files: bool = False
    settings: tuple[str, ...] = ()
    formats: tuple[str, ...] = ("onnx", "litert")

    def add_corpus(self, command: argparse.ArgumentParser, prefix: str = "") -> None:
        """Adds the arguments of a corpus, whose names start with the prefix: "" or "dev-"."""
        raise NotImplementedError

    def add_evaluate(self, command: argparse.ArgumentParser) -> None:
        """Adds further arguments of `evaluate`."""

    def add_predict(self, command: argparse.ArgumentParser) -> None:
        """Adds further arguments of the command that predicts."""

    def parser(self) -> argparse.ArgumentParser:
        """Returns the parser of all commands."""
        program = f"python -m zoo.{self.task}"
        parser = argparse.ArgumentParser(prog=program, description=f"Commands of the task {self.task}.")
        commands = parser.add_subparsers(required=True, metavar="COMMAND")
        self.add_commands(commands)
        return parser

    def add_commands(self, commands: Any) -> None:
        """Adds all commands to the subparsers `commands`."""
        train = self.add_command(commands, "train", self.run_train, resumes=True)
        self.add_corpus(train)
        self.add_corpus(train, "dev-")
        text = "instead of a dev corpus: the share of the training corpus to hold out, such as 0.02"
        train.add_argument("--dev-share", type=float, help=text)
        text = "sizes of the model and settings of the training run, %(default)s by default"
        train.add_argument("--recipe", choices=self.recipes, default="small", help=text)
        text = "changes values of the recipe, such as training.steps=500; may be repeated"
        train.add_argument("--set", action="extend", nargs="+", default=[], metavar="NAME=VALUE", help=text)
        if self.reads_text:
            train.add_argument("--vocabulary", help="by default that of --initial, or one learned from the corpus")
        train.add_argument("--initial", help="model to fine-tune: a name, a checkpoint, a folder with a BERT")
        text = "mirrored: train on all GPUs of this machine; workers: on those of all processes that TF_CONFIG names"
        train.add_argument("--strategy", choices=["mirrored", "workers"], help=text)
        text = "how GPUs add gradients; where `doctor` reports wrong sums or no answer, try one-device"
        train.add_argument("--cross-device-ops", choices=["nccl", "hierarchical", "one-device"], help=text)
        train.add_argument("--model-devices", type=int, default=1, help="that share a weight, on JAX; 1 by default")
        train.add_argument("--card", help="JSON with name, data, licence of the data ... for the checkpoint's card")
        train.add_argument("--output", required=True, help="folder of the run; an interrupted run resumes")
        self.add_train(train)

        finish = self.add_command(commands, "finish", self.run_finish)
        finish.add_argument("folder", metavar="RUN", help="folder of the run, the --output of `train`")
        text = "by default the best on dev if there was an evaluation, else the last"
        finish.add_argument("--weights", choices=["best", "average", "last"], help=text)

        evaluate = self.add_command(commands, "evaluate", self.run_evaluate, self.details)
        self.add_checkpoint(evaluate)
        self.add_corpus(evaluate)
        text = "page to write, such as report.html: scores by length, the worst examples, confusions, calibration"
        evaluate.add_argument("--report", metavar="FILE", help=text)
        self.add_evaluate(evaluate)
        if self.predict is None:
            return
        predict = self.add_command(commands, self.predict, self.run_predict, self.predictions.__doc__)
        self.add_checkpoint(predict)
        self.add_texts(predict)
        self.add_predict(predict)

        export = self.add_command(commands, "export", self.run_export)
        self.add_checkpoint(export)
        export.add_argument("--output", required=True, help="folder to write")
        text = "limit of an input; a longer one is an error; 100,000 for texts and 20,000,000 for files by default"
        export.add_argument("--max-bytes", type=int, help=text)
        text = "limit of a call; a longer one is an error; none by default"
        export.add_argument("--max-seconds", type=float, help=text)
        self.add_export(export)
        add_format(export, self.formats)

    def add_command(self, commands: Any, name: str, *arguments: Any, **options: Any) -> argparse.ArgumentParser:
        """Adds a command, before which `check` is called; arguments as for `command_line.add_command`."""
        check = functools.partial(self.check, name)
        return command_line.add_command(commands, name, *arguments, check=check, **options)

    def add_train(self, command: argparse.ArgumentParser) -> None:
        """Adds further arguments of `train`."""

    def add_texts(self, command: argparse.ArgumentParser) -> None:
        """Adds the texts that a command reads."""
        command.add_argument("files", nargs="*", help="texts, one a line; standard input by default")
        command.add_argument("--text", action="append", help="a text instead of files")

    def add_export(self, command: argparse.ArgumentParser) -> None:
        """Adds further arguments of `export`."""

    def add_checkpoint(self, command: argparse.ArgumentParser, **changed: Any) -> None:
        """Adds `--checkpoint`, with `changed` options of `add_argument`, and `--dtype`."""
        required = self.default_checkpoint is None
        text = "name, folder or address" + ("" if required else "; %(default)s by default")
        given = {"default": self.default_checkpoint, "required": required, "help": text, **changed}
        command.add_argument("--checkpoint", **given)
        text = "what the model computes in, %(default)s by default; mixed_bfloat16 is faster where there is bfloat16"
        command.add_argument("--dtype", choices=DTYPES, default="float32", help=text)
