"""Command line: `python -m zoo.labelling train | evaluate | tag | export`."""

import sys

from zoo.commands.task_commands import TaskCommands
from zoo.labelling.data import SentenceReader
from zoo.labelling.recipes import RECIPES


class LabellingCommands(TaskCommands):
    task, recipes, predict, default_checkpoint = "labelling", RECIPES, "tag", "labelling/masc-pos"

    def add_corpus(self, command, prefix=""):
        text = "file with a word and its label per line, and an empty line after each sentence"
        command.add_argument(f"--{prefix}data", required=True, help=text)
        if prefix:
            return
        command.add_argument("--columns", type=int, nargs=2, default=(0, -1), help="columns of word and label, from 0")
        command.add_argument(
            "--unknown-labels",
            choices=["error", "wrong"],
            default="error",
            help="labels that are not in the training data: an error, or counted as wrong",
        )

    def read(self, options, prefix=""):
        path = options.dev_data if prefix else options.data
        return SentenceReader(path, options.columns, options.unknown_labels)

    def predictions(self, predictor, lines, options, progress):
        """Returns a line of word_label pairs for each sentence, whose words are separated by spaces."""
        sentences = [text.split() for text in lines]
        pairs = zip(sentences, predictor.tag(sentences, progress))
        return [" ".join(map("_".join, zip(words, labels))) for words, labels in pairs]


COMMANDS = LabellingCommands()
main = COMMANDS.main

if __name__ == "__main__":
    sys.exit(main())
