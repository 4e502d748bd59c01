"""Command line: `python -m zoo.parsing train | evaluate | parse | export`."""

import argparse
import pathlib
import sys

import rich.console
import rich.table

from zoo.commands import command_line
from zoo.commands.command_line import ProgressBar, add_command, log
from zoo.parsing.recipes import RECIPES
from zoo.text.terminal import answer, cell, line

DEFAULT_CHECKPOINT = "parsing/genia"


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; returns the exit status: 2 for what the caller can mend, told in one line."""
    return command_line.run(_parser(), arguments)


def run_train(options) -> None:
    """Trains a span parser, or goes on with one."""
    from zoo.parsing import task
    from zoo.parsing.data import TreeReader

    trees, dev = (TreeReader(path) for path in (options.data, options.dev_data))
    arguments = command_line.training(options, RECIPES, "zoo.parsing")
    task.train(train_trees=trees, dev_trees=dev, **arguments)
    arguments["log"](f"written: {pathlib.Path(options.output) / 'checkpoint'}")


def run_evaluate(options) -> None:
    """Prints F1, precision and recall of brackets as evalb counts them, with 95 % intervals, and a table by label."""
    import zoo
    from zoo.parsing import task
    from zoo.parsing.data import TreeReader
    from zoo.parsing.metrics import label_table

    parser = zoo.load(options.checkpoint)
    search = {"beam_size": options.beam_size} if options.beam_size else {}
    search |= {"constrain": False} if options.unconstrained else {}
    if search and not isinstance(parser, task.LinearParser):
        raise ValueError("A span parser finds the best tree without a search. Leave out --beam-size, --unconstrained.")
    reader = TreeReader(options.data)
    trees = [*reader]
    log(str(reader.report))
    with ProgressBar(len(trees), "parsing") as advance:
        scores, gold, found = task.evaluate(
            parser, trees, progress=advance, outermost=not options.without_outermost, **search
        )
    for score in scores:
        print(score)
    numbers = (rich.table.Column(name, justify="right") for name in ("gold", "recall", "precision", "F1"))
    table = rich.table.Table("label", *numbers)
    for label, wanted, own, common in label_table(gold, found):
        recall, precision = (f"{100 * common / total:.1f}" if total else "" for total in (wanted, own))
        table.add_row(cell(label), f"{wanted:,}", recall, precision, f"{200 * common / (wanted + own):.1f}")
    rich.console.Console().print(table)


def run_parse(options) -> None:
    """Parses standard input or files, a sentence a line; prints a tree a line, an empty one for an empty line."""
    import zoo
    from zoo.parsing.trees import bracketed

    texts = command_line.texts(options)
    sentences = [text.split() for text in texts] if options.tokenised else texts
    with ProgressBar(len(sentences), "parsing") as advance:
        found = zoo.load(options.checkpoint).parse(sentences, advance)
    for tree in found:
        if tree is None:
            answer("")
        elif options.draw is None:
            answer(line(bracketed(tree)))
        else:
            from nltk.tree.prettyprinter import TreePrettyPrinter

            picture = TreePrettyPrinter(tree)
            answer(picture.svg() if options.draw == "svg" else picture.text())


def run_export(options) -> None:
    """Writes a SavedModel of a span parser that takes words and returns trees in brackets."""
    command_line.export(options)


def _parser():
    parser = argparse.ArgumentParser(prog="python -m zoo.parsing", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    train = add_command(commands, "train", run_train)
    train.add_argument("--data", required=True, help="trees in brackets, gzip or not")
    train.add_argument("--dev-data", required=True, help="such a file to choose the weights by")
    command_line.add_training(train, RECIPES)

    evaluate = add_command(commands, "evaluate", run_evaluate)
    evaluate.add_argument("--checkpoint", default=DEFAULT_CHECKPOINT, help="name or folder")
    evaluate.add_argument("--data", required=True, help="trees in brackets, gzip or not")
    evaluate.add_argument(
        "--without-outermost", action="store_true", help="do not count what is alone under the root, as GENIA's S"
    )
    evaluate.add_argument("--beam-size", type=int, help="of a linearised parser; 1 is greedy")
    evaluate.add_argument(
        "--unconstrained", action="store_true", help="a linearised parser may write anything, which is then repaired"
    )

    parse = add_command(commands, "parse", run_parse)
    parse.add_argument("--checkpoint", default=DEFAULT_CHECKPOINT, help="name or folder")
    parse.add_argument("--tokenised", action="store_true", help="words are split by spaces already")
    parse.add_argument("--draw", nargs="?", const="ascii", choices=["ascii", "svg"], help="print pictures of the trees")
    command_line.add_texts(parse)
    command_line.add_export(add_command(commands, "export", run_export), DEFAULT_CHECKPOINT)
    return parser


if __name__ == "__main__":
    sys.exit(main())
