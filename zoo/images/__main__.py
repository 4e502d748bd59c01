"""Command line: `python -m zoo.images train | evaluate | classify | export`."""

import argparse
import sys

import rich.console
import rich.table

from zoo.classification.metrics import confusion_matrix, draw_confusion
from zoo.commands import command_line
from zoo.commands.command_line import check_writable, progress_bar
from zoo.commands.file_answers import FileAnswers
from zoo.commands.task_commands import TaskCommands
from zoo.distribution.exiting import exit_command
from zoo.extras import require
from zoo.images.data import open_images
from zoo.images.recipes import RECIPES
from zoo.text.terminal import join_lines, print_result, table_cell

_CHUNK = 256


class ImageCommands(TaskCommands):
    """The command line of image classification."""

    task, recipes, predict = "images", RECIPES, "classify"
    reads_text, reads_files, settings = False, True, ("mirrored",)
    details = "The accuracy of each class, too."

    def add_corpus(self, command, prefix=""):
        group = command_line.corpus_group(command, prefix)
        text = "folder or zip file of folders, CLASS/FILE, or tfds:NAME"
        group.add_argument(f"--{prefix}data", required=not prefix, help=text)
        command_line.add_split(group, prefix)

    def read(self, options, prefix=""):
        arguments = command_line.given_arguments(options, ("data", "split"), prefix)
        return command_line.with_log(open_images(**arguments))

    def check(self, command, options):
        super().check(command, options)
        if command != "finish":
            require("Reading images", "PIL")
        if getattr(options, "picture", None):
            require("Drawing", "matplotlib")
            check_writable(options.picture)

    def add_texts(self, command):
        command.add_argument("files", nargs="+", help="images")

    def add_evaluate(self, command):
        _add_mirrored(command)
        command.add_argument("--picture", help="file for a picture of the confusion matrix, such as confusion.png")

    def print_details(self, predictor, evaluation, options):
        matrix = confusion_matrix(evaluation.gold, evaluation.predicted.argmax(1), len(predictor.labels))
        table = rich.table.Table("class", "images", "right, %", "most often confused with")
        for number, (name, row) in enumerate(zip(predictor.labels, matrix)):
            wrong = row.copy()
            wrong[number] = 0
            other = f"{predictor.labels[wrong.argmax()]} ({wrong.max()})" if wrong.any() else ""
            right = f"{100 * row[number] / max(1, row.sum()):.1f}"
            table.add_row(table_cell(name), f"{row.sum():,}", right, table_cell(other))
        rich.console.Console().print(table)
        if options.picture:
            draw_confusion(matrix, predictor.labels, options.picture)

    def add_export(self, command):
        _add_mirrored(command)

    def add_predict(self, command):
        _add_mirrored(command)
        text = "file for a picture of the first 16 images, and of where the model looks; such as attention.png"
        command.add_argument("--picture", help=text)

    def run_predict(self, options):
        """Prints a line for each image: file, class and probability, separated by tabs."""
        predictor, files = self.load(options), options.files
        answers = FileAnswers(predictor.classify, files, _CHUNK)
        with progress_bar(len(files), self.predict, shown=not sys.stdout.isatty()) as advance:
            for chunk in answers.chunks():
                for path, (label, probability) in chunk:
                    print_result(f"{path}\t{join_lines(label)}\t{probability:.4f}")
                sys.stdout.flush()
                advance(_CHUNK)
        if options.picture and answers.readable:
            from zoo.images.picture import draw_rollout

            draw_rollout(predictor, answers.readable[:16], options.picture)
        return answers.status()


def _add_mirrored(command):
    text = "average over each image and its mirror image, at twice the time; as the checkpoint does by default"
    command.add_argument("--mirrored", action=argparse.BooleanOptionalAction, help=text)


COMMANDS = ImageCommands()
main = COMMANDS.main

if __name__ == "__main__":
    exit_command(main())
