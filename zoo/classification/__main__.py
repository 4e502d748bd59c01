"""Command line: `python -m zoo.classification train | evaluate | classify | export`."""

import argparse
import pathlib
import sys

import rich.console
import rich.table

from zoo.classification.data import open_examples
from zoo.classification.recipes import RECIPES
from zoo.commands import command_line
from zoo.commands.command_line import CORPUS, ProgressBar, add_command, corpus, log
from zoo.text.terminal import answer, cell, line

DEFAULT_CHECKPOINT = "classification/sst2"


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; returns the exit status: 2 for what the caller can mend, told in one line."""
    return command_line.run(_parser(), arguments)


def run_train(options) -> None:
    """Trains a classifier, or goes on with one."""
    from zoo.classification import task

    dev = _examples(options, "dev-")
    arguments = command_line.training(options, RECIPES, "zoo.classification")
    task.train(train_examples=_examples(options), dev_examples=dev, **arguments)
    arguments["log"](f"written: {pathlib.Path(options.output) / 'checkpoint'}")


def run_evaluate(options) -> None:
    """Prints accuracy, macro F1 and calibration error with their 95 % intervals, and the confusion matrix."""
    import zoo
    from zoo.classification import task
    from zoo.classification.metrics import draw_confusion

    classifier = zoo.load(options.checkpoint)
    examples = _examples(options)
    scores, matrix = task.evaluate(classifier, examples)
    _log_cut(classifier, [example.texts[0] if len(example.texts) == 1 else example.texts for example in examples])
    for score in scores:
        print(score)
    table = rich.table.Table(
        "class", *(rich.table.Column(name, justify="right") for name in map(cell, classifier.labels))
    )
    for name, counts in zip(classifier.labels, matrix):
        table.add_row(cell(name), *(f"{count:,}" for count in counts))
    rich.console.Console().print(table)
    if options.picture:
        draw_confusion(matrix, classifier.labels, options.picture)


def run_classify(options) -> None:
    """Classifies standard input or files, line for line: label and probability, split by a tab."""
    import zoo

    texts = command_line.texts(options)
    classifier = zoo.load(options.checkpoint)
    if classifier.model.config.num_texts > 1:
        texts = [_pair(text, number) for number, text in enumerate(texts, start=1)]
    with ProgressBar(len(texts), "classifying") as advance:
        found = classifier.classify(texts, advance)
    for label, probability in found:
        answer(f"{line(label)}\t{probability:.4f}")
    _log_cut(classifier, texts)


def run_export(options) -> None:
    """Writes a SavedModel that takes texts and returns labels and probabilities."""
    command_line.export(options)


def _log_cut(classifier, texts):
    cut = classifier.rows(texts)[2]
    if len(cut):
        log(
            f"{len(cut):,} texts of more than {classifier.max_tokens} tokens were cut; the first is number {cut[0] + 1}"
        )


def _pair(text, number):
    parts = text.split("\t")
    if len(parts) != 2:
        raise ValueError(f"Line {number} must hold two texts with a tab between them. Received: {text[:60]!r}.")
    return parts


def _parser():
    parser = argparse.ArgumentParser(prog="python -m zoo.classification", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    train = add_command(commands, "train", run_train)
    _add_corpus(train)
    _add_corpus(train, "dev-")
    command_line.add_training(train, RECIPES)

    evaluate = add_command(commands, "evaluate", run_evaluate)
    evaluate.add_argument("--checkpoint", default=DEFAULT_CHECKPOINT, help="name or folder")
    _add_corpus(evaluate)
    evaluate.add_argument("--picture", help="file for a picture of the confusion matrix, such as confusion.png")

    classify = add_command(commands, "classify", run_classify)
    classify.add_argument("--checkpoint", default=DEFAULT_CHECKPOINT, help="name or folder")
    command_line.add_texts(classify)
    command_line.add_export(add_command(commands, "export", run_export), DEFAULT_CHECKPOINT)
    return parser


def _add_corpus(command, prefix=""):
    chosen = "label and one or two texts"
    group = command_line.add_corpus(command, prefix, "tab-separated or .csv file", chosen, chosen)
    group.add_argument(f"--{prefix}header", action="store_true", help="the file begins with a line of names")


def _examples(options, prefix=""):
    return open_examples(**corpus(options, prefix, (*CORPUS, "header")))


if __name__ == "__main__":
    sys.exit(main())
