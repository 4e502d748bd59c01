"""Command line: `python -m zoo.parsing train | evaluate | parse | export`."""

import sys

import rich.console
import rich.table

import zoo
from zoo.commands.command_line import log, progress_bar
from zoo.commands.task_commands import TaskCommands
from zoo.parsing.recipes import RECIPES
from zoo.text.terminal import join_lines, table_cell


class ParsingCommands(TaskCommands):
    task, recipes, predict, default_checkpoint = "parsing", RECIPES, "parse", "parsing/genia"

    def add_corpus(self, command, prefix=""):
        text = "trees in brackets, gzip or not" + (", to choose the weights by" if prefix else "")
        command.add_argument(f"--{prefix}data", required=True, help=text)

    def read(self, options, prefix=""):
        from zoo.parsing.data import TreeReader

        return TreeReader(options.dev_data if prefix else options.data)

    def add_evaluate(self, command):
        command.add_argument(
            "--without-outermost", action="store_true", help="do not count what is alone under the root, as GENIA's S"
        )
        command.add_argument("--beam-size", type=int, help="of a linearised parser; 1 is greedy")
        command.add_argument(
            "--unconstrained",
            action="store_true",
            help="a linearised parser may write anything, which is then repaired",
        )

    def run_evaluate(self, options):
        """Prints F1, precision and recall of brackets as evalb counts them, with 95 % intervals, and a label table."""
        from zoo.parsing.metrics import label_table

        parser = zoo.load(options.checkpoint)
        search = {"beam_size": options.beam_size} if options.beam_size else {}
        search |= {"constrain": False} if options.unconstrained else {}
        if search and parser.card.get("parser") != "linear":
            raise ValueError(
                "A span parser finds the best tree without a search. Leave out --beam-size, --unconstrained."
            )
        reader = self.read(options)
        trees = [*reader]
        log(str(reader.report))
        with progress_bar(len(trees), "parse") as advance:
            scores, gold, found, _ = self.module().evaluate(
                parser, trees, progress=advance, outermost=not options.without_outermost, **search
            )
        for score in scores:
            print(score)
        numbers = (rich.table.Column(name, justify="right") for name in ("gold", "recall", "precision", "F1"))
        table = rich.table.Table("label", *numbers)
        for label, wanted, own, common in label_table(gold, found):
            recall, precision = (f"{100 * common / total:.1f}" if total else "" for total in (wanted, own))
            table.add_row(table_cell(label), f"{wanted:,}", recall, precision, f"{200 * common / (wanted + own):.1f}")
        rich.console.Console().print(table)

    def add_predict(self, command):
        command.add_argument("--tokenised", action="store_true", help="words are split by spaces already")
        command.add_argument(
            "--draw", nargs="?", const="ascii", choices=["ascii", "svg"], help="print pictures of the trees"
        )

    def predictions(self, predictor, lines, options, progress):
        """One line a sentence: its tree in brackets, nothing for an empty line."""
        from zoo.parsing.trees import bracketed

        sentences = [text.split() for text in lines] if options.tokenised else lines
        for tree in predictor.parse(sentences, progress):
            if tree is None:
                yield ""
            elif options.draw is None:
                yield join_lines(bracketed(tree))
            else:
                from nltk.tree.prettyprinter import TreePrettyPrinter

                picture = TreePrettyPrinter(tree)
                yield picture.svg() if options.draw == "svg" else picture.text()


COMMANDS = ParsingCommands()
main = COMMANDS.main

if __name__ == "__main__":
    sys.exit(main())
