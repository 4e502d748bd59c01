"""Command line: `python -m zoo.pretraining train | evaluate`."""

import argparse
import pathlib
import sys

from zoo.commands import command_line
from zoo.commands.command_line import add_command, corpus
from zoo.pretraining.data import open_texts
from zoo.pretraining.recipes import RECIPES


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; returns the exit status: 2 for what the caller can mend, told in one line."""
    return command_line.run(_parser(), arguments)


def run_train(options) -> None:
    """Pretrains an encoder on plain texts, or goes on with one; `--initial` of the other tasks takes it."""
    from zoo.pretraining import task

    arguments = command_line.training(options, RECIPES, "zoo.pretraining")
    task.train(train_texts=open_texts(**corpus(options)), dev_texts=open_texts(**corpus(options, "dev-")), **arguments)
    arguments["log"](f"written: {pathlib.Path(options.output) / 'checkpoint'}")


def run_evaluate(options) -> None:
    """Prints how many masked tokens are guessed right, and by a constant guess, and the perplexity."""
    import zoo
    from zoo.pretraining import task

    for score in task.evaluate(zoo.load(options.checkpoint), open_texts(**corpus(options))):
        print(score)


def _parser():
    parser = argparse.ArgumentParser(prog="python -m zoo.pretraining", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    train = add_command(commands, "train", run_train)
    _add_corpus(train)
    _add_corpus(train, "dev-")
    command_line.add_training(train, RECIPES)

    evaluate = add_command(commands, "evaluate", run_evaluate)
    evaluate.add_argument("--checkpoint", required=True, help="name or folder")
    _add_corpus(evaluate)
    return parser


def _add_corpus(command, prefix=""):
    command_line.add_corpus(command, prefix, "file with a text a line", "a TSV or .csv file", "its texts")


if __name__ == "__main__":
    sys.exit(main())
