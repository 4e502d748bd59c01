"""Command line: `python -m zoo.labelling train | evaluate | tag | export`."""

import argparse
import pathlib
import sys

from zoo.commands import command_line
from zoo.commands.command_line import ProgressBar, add_command
from zoo.labelling.data import SentenceReader
from zoo.labelling.recipes import RECIPES
from zoo.text.terminal import answer

DEFAULT_CHECKPOINT = "labelling/masc-pos"


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; returns the exit status: 2 for what the caller can mend, told in one line."""
    return command_line.run(_parser(), arguments)


def run_train(options) -> None:
    """Trains a tagger, or goes on with one."""
    from zoo.labelling import task

    sentences, dev = (SentenceReader(path, options.columns) for path in (options.data, options.dev_data))
    arguments = command_line.training(options, RECIPES, "zoo.labelling")
    task.train(train_sentences=sentences, dev_sentences=dev, unknown_labels=options.unknown_labels, **arguments)
    arguments["log"](f"written: {pathlib.Path(options.output) / 'checkpoint'}")


def run_evaluate(options) -> None:
    """Prints token accuracy and, for BIO labels, span F1, with their 95 % intervals."""
    import zoo
    from zoo.labelling import task

    sentences = SentenceReader(options.data, options.columns)
    for score in task.evaluate(zoo.load(options.checkpoint), sentences, unknown_labels=options.unknown_labels):
        print(score)


def run_tag(options) -> None:
    """Tags standard input or files, a sentence a line with spaces between words: word_label for each word."""
    import zoo

    sentences = [text.split() for text in command_line.texts(options)]
    with ProgressBar(len(sentences), "tagging") as advance:
        found = zoo.load(options.checkpoint).tag(sentences, advance)
    for words, labels in zip(sentences, found):
        answer(" ".join(f"{word}_{label}" for word, label in zip(words, labels)))


def run_export(options) -> None:
    """Writes a SavedModel that takes words and returns labels and probabilities."""
    command_line.export(options)


def _parser():
    parser = argparse.ArgumentParser(prog="python -m zoo.labelling", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    train = add_command(commands, "train", run_train)
    _add_corpus(train)
    train.add_argument("--dev-data", required=True, help="such a file to choose the weights by")
    command_line.add_training(train, RECIPES)

    evaluate = add_command(commands, "evaluate", run_evaluate)
    evaluate.add_argument("--checkpoint", default=DEFAULT_CHECKPOINT, help="name or folder")
    _add_corpus(evaluate)

    tag = add_command(commands, "tag", run_tag)
    tag.add_argument("--checkpoint", default=DEFAULT_CHECKPOINT, help="name or folder")
    command_line.add_texts(tag)
    command_line.add_export(add_command(commands, "export", run_export), DEFAULT_CHECKPOINT)
    return parser


def _add_corpus(command):
    command.add_argument("--data", required=True, help="a word and its label a line, an empty line after a sentence")
    command.add_argument("--columns", type=int, nargs=2, default=(0, -1), help="columns of word and label, from 0")
    command.add_argument(
        "--unknown-labels", choices=["error", "wrong"], default="error", help="what labels are that training never saw"
    )


if __name__ == "__main__":
    sys.exit(main())
