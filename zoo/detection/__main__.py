"""Command line: `python -m zoo.detection train | evaluate | detect | export`."""

import pathlib
import sys

import rich.console
import rich.table

from zoo.commands import command_line
from zoo.commands.command_line import check_writable, progress_bar
from zoo.commands.file_answers import FileAnswers
from zoo.commands.task_commands import TaskCommands
from zoo.detection.data import open_boxes
from zoo.detection.recipes import RECIPES
from zoo.distribution.exiting import exit_command
from zoo.extras import require
from zoo.text.terminal import join_lines, print_result, table_cell

_CHUNK = 16


class DetectionCommands(TaskCommands):
    """The command line of detection."""

    task, recipes, predict = "detection", RECIPES, "detect"
    reads_text, reads_files = False, True
    details = "AP50 and AP of each class, too."

    def add_corpus(self, command, prefix=""):
        group = command_line.corpus_group(command, prefix)
        text = "folder or zip file of images and Pascal VOC's XML files, COCO's JSON file, or tfds:NAME"
        group.add_argument(f"--{prefix}data", required=not prefix, help=text)
        text = "for a JSON file: folder or zip file of the images, by default the folder of the file"
        group.add_argument(f"--{prefix}images", help=text)
        command_line.add_split(group, prefix)

    def read(self, options, prefix=""):
        arguments = command_line.given_arguments(options, ("data", "images", "split"), prefix)
        return command_line.with_log(open_boxes(**arguments))

    def check(self, command, options):
        super().check(command, options)
        if command != "finish":
            require("Reading images", "PIL")
        if command in ("train", "evaluate"):
            require("Average precision", "pycocotools", "scipy")
        if getattr(options, "draw", None):
            if len(options.files) > 1:
                pathlib.Path(options.draw).mkdir(exist_ok=True)
            else:
                check_writable(options.draw)

    def add_texts(self, command):
        command.add_argument("files", nargs="+", help="images")

    def print_details(self, predictor, evaluation, options):
        from zoo.detection.metrics import detection_scores

        known, found = evaluation.gold, evaluation.predicted
        _, by_class = detection_scores(known, found, predictor.labels, predictor.min_score)
        table = rich.table.Table("class", "objects", "AP50, %", "AP, %")
        for number, (name, (average, at_half)) in enumerate(by_class.items()):
            count = sum(int((each.classes == number).sum()) for each in known)
            table.add_row(table_cell(name), f"{count:,}", f"{at_half:.1f}", f"{average:.1f}")
        rich.console.Console().print(table)

    def add_predict(self, command):
        command.add_argument("--min-score", type=float, help="least score of an object; by default that of the model")
        text = "file for the image with its boxes, such as boxes.png; for several images, a folder"
        command.add_argument("--draw", metavar="PATH", help=text)

    def run_predict(self, options):
        """Prints a line for each object: file, class, score, left, top, right and bottom, separated by tabs."""
        predictor, files = self.load(options), options.files
        answers = FileAnswers(lambda chunk: predictor.detect(chunk, options.min_score), files, _CHUNK)
        with progress_bar(len(files), self.predict, shown=not sys.stdout.isatty()) as advance:
            for chunk in answers.chunks():
                for path, objects in chunk:
                    for label, score, box in objects:
                        numbers = "\t".join(f"{number:.1f}" for number in box)
                        print_result(f"{path}\t{join_lines(label)}\t{score:.4f}\t{numbers}")
                    if options.draw:
                        self._draw(predictor, path, objects, options)
                sys.stdout.flush()
                advance(_CHUNK)
        return answers.status()

    def _draw(self, predictor, path, objects, options):
        from zoo.detection.picture import draw_objects, drawn_path

        draw_objects(path, objects, predictor.labels, drawn_path(options.draw, path, len(options.files) > 1))


COMMANDS = DetectionCommands()
main = COMMANDS.main

if __name__ == "__main__":
    exit_command(main())
