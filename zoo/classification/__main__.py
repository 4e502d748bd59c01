"""Command line: `python -m zoo.classification train | evaluate | classify | export`."""

import rich.console
import rich.table

from zoo.classification.data import open_examples
from zoo.classification.metrics import confusion_matrix, draw_confusion
from zoo.classification.recipes import RECIPES
from zoo.commands import command_line
from zoo.commands.command_line import CORPUS, check_writable, log
from zoo.commands.task_commands import TaskCommands
from zoo.distribution.exiting import exit_command
from zoo.extras import require
from zoo.text.terminal import join_lines, table_cell


class ClassificationCommands(TaskCommands):
    task, recipes, predict, default_checkpoint = "classification", RECIPES, "classify", "classification/sst2"
    details = "The confusion matrix, too."

    def add_corpus(self, command, prefix=""):
        names = "label and one or two texts"
        group = command_line.add_corpus(command, prefix, "tab-separated or .csv file", names, names)
        group.add_argument(f"--{prefix}header", action="store_true", help="the first line of the file is a header")
        if not prefix:
            text = "names of the labels in both corpora, such as 0=negative 1=positive"
            group.add_argument("--label-names", nargs="+", default=[], metavar="LABEL=NAME", help=text)

    def read(self, options, prefix=""):
        arguments = command_line.given_arguments(options, (*CORPUS, "header"), prefix)
        return command_line.with_log(open_examples(**arguments, label_names=_label_names(options.label_names)))

    def check(self, command, options):
        super().check(command, options)
        if getattr(options, "picture", None):
            require("Drawing", "matplotlib")
            check_writable(options.picture)

    def add_evaluate(self, command):
        command.add_argument("--picture", help="file for a picture of the confusion matrix, such as confusion.png")

    def evaluation(self, predictor, options):
        texts = [item.texts[0] if len(item.texts) == 1 else item.texts for item in self.read(options)]
        _log_truncated(predictor, texts)
        return super().evaluation(predictor, options)

    def print_details(self, predictor, evaluation, options):
        labels, probabilities = predictor.labels, evaluation.predicted
        matrix = confusion_matrix(evaluation.gold, probabilities.argmax(1), len(labels))
        columns = (rich.table.Column(name, justify="right") for name in map(table_cell, labels))
        table = rich.table.Table("class", *columns)
        for name, counts in zip(labels, matrix):
            table.add_row(table_cell(name), *(f"{count:,}" for count in counts))
        rich.console.Console().print(table)
        if options.picture:
            draw_confusion(matrix, labels, options.picture)

    def predictions(self, predictor, lines, options, progress):
        """Returns a line for each text: label and probability, separated by a tab."""
        if predictor.model.config.num_texts > 1:
            lines = [_pair(text, number) for number, text in enumerate(lines, start=options.first)]
        classes = predictor.classify(lines, progress)
        _log_truncated(predictor, lines, options.first)
        return [f"{join_lines(label)}\t{probability:.4f}" for label, probability in classes]


def _log_truncated(classifier, texts, first=1):
    cut, limit = classifier.rows(texts)[2], classifier.max_tokens
    if len(cut):
        log(f"{len(cut):,} texts of more than {limit} tokens were truncated; the first is number {cut[0] + first}")


def _label_names(pairs):
    names = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    if len(names) < len(pairs):
        raise ValueError(
            f"--label-names takes pairs such as 0=negative 1=positive, each label once. Received: {' '.join(pairs)}."
        )
    return names


def _pair(text, number):
    parts = text.split("\t")
    if len(parts) != 2:
        raise ValueError(
            f"Line {number} must contain two texts, separated by a tab. Received: {text[:60]!r}. Add the other text."
        )
    return parts


COMMANDS = ClassificationCommands()
main = COMMANDS.main

if __name__ == "__main__":
    exit_command(main())
