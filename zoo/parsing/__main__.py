"""Command line: `python -m zoo.parsing train | evaluate | parse | export`."""

import rich.console
import rich.table

from zoo.commands.command_line import corpus_group, log, progress_bar, with_log
from zoo.commands.task_commands import TaskCommands
from zoo.corpora.inspection import inspect_reader
from zoo.distribution.exiting import exit_command
from zoo.extras import require
from zoo.parsing.recipes import RECIPES
from zoo.text.terminal import join_lines, table_cell


class ParsingCommands(TaskCommands):
    task, recipes, predict, default_checkpoint = "parsing", RECIPES, "parse", "parsing/genia"
    formats = ()
    details = "Brackets count as in evalb. A table of the labels, too."

    def check(self, command, options):
        super().check(command, options)
        require("Parsing", "nltk")

    def add_corpus(self, command, prefix=""):
        text = "file of trees in brackets, gzip or not"
        corpus_group(command, prefix).add_argument(f"--{prefix}data", required=not prefix, help=text)

    def read(self, options, prefix=""):
        from zoo.parsing.data import TreeReader

        return with_log(TreeReader(options.dev_data if prefix else options.data))

    def add_evaluate(self, command):
        text = "do not count an only child of the root, such as S in GENIA"
        command.add_argument("--without-outermost", action="store_true", help=text)
        command.add_argument("--beam-size", type=int, help="for a linearised parser; 1 is greedy")
        text = "for a linearised parser: search without constraints, and repair the outputs"
        command.add_argument("--unconstrained", action="store_true", help=text)

    def evaluation(self, predictor, options):
        search = {"beam_size": options.beam_size} if options.beam_size else {}
        search |= {"constrain": False} if options.unconstrained else {}
        if search and predictor.fixed_settings.get("parser") != "linear":
            raise ValueError(
                "A span parser finds the best tree without a beam search. Omit --beam-size and --unconstrained."
            )
        reader = self.read(options)
        trees = [*reader]
        inspect_reader(reader, "corpus")
        log(str(reader.report))
        with progress_bar(len(trees), "parse") as advance:
            search["outermost"] = not options.without_outermost
            return self.module().evaluate(predictor, trees, progress=advance, **search)

    def print_details(self, predictor, evaluation, options):
        from zoo.parsing.metrics import label_table

        numbers = (rich.table.Column(name, justify="right") for name in ("gold", "recall", "precision", "F1"))
        table = rich.table.Table("label", *numbers)
        for label, gold, predicted, common in label_table(evaluation.gold, evaluation.predicted):
            recall, precision = (f"{100 * common / total:.1f}" if total else "" for total in (gold, predicted))
            table.add_row(table_cell(label), f"{gold:,}", recall, precision, f"{200 * common / (gold + predicted):.1f}")
        rich.console.Console().print(table)

    def add_predict(self, command):
        command.add_argument("--tokenised", action="store_true", help="the words are already separated by spaces")
        kinds = {"nargs": "?", "const": "ascii", "choices": ["ascii", "svg"]}
        command.add_argument("--draw", **kinds, help="print drawings of the trees")

    def predictions(self, predictor, lines, options, progress):
        """Returns the tree of each sentence in brackets on a line, or as a drawing; an empty line has no tree.

        Words are split as in the Penn treebank. The default model parses English, and was trained on the abstracts of
        biomedical articles of GENIA.
        """
        from zoo.parsing.trees import to_brackets

        sentences = [text.split() for text in lines] if options.tokenised else lines
        for tree in predictor.parse(sentences, progress):
            if tree is None:
                yield ""
            elif options.draw is None:
                yield join_lines(to_brackets(tree))
            else:
                from nltk.tree.prettyprinter import TreePrettyPrinter

                picture = TreePrettyPrinter(tree)
                yield picture.svg() if options.draw == "svg" else picture.text()


COMMANDS = ParsingCommands()
main = COMMANDS.main

if __name__ == "__main__":
    exit_command(main())
