"""Command line: `python -m zoo.labelling train | evaluate | tag | export`."""

import sys

from zoo.commands.task_commands import TaskCommands
from zoo.labelling.data import SentenceReader
from zoo.labelling.recipes import RECIPES


class LabellingCommands(TaskCommands):
    task, recipes, predict, default_checkpoint = "labelling", RECIPES, "tag", "labelling/masc-pos"

    def add_corpus(self, command, prefix=""):
        text = "a word and its label a line, an empty line after a sentence"
        command.add_argument(f"--{prefix}data", required=True, help=text)
        if prefix:
            return
        command.add_argument("--columns", type=int, nargs=2, default=(0, -1), help="columns of word and label, from 0")
        command.add_argument(
            "--unknown-labels",
            choices=["error", "wrong"],
            default="error",
            help="what labels count as that training never saw",
        )

    def read(self, options, prefix=""):
        path = options.dev_data if prefix else options.data
        return SentenceReader(path, options.columns, options.unknown_labels)

    def predictions(self, predictor, lines, options, progress):
        """One line a sentence, whose words are split by spaces: word_label for each word."""
        sentences = [text.split() for text in lines]
        found = predictor.tag(sentences, progress)
        return [" ".join(map("_".join, zip(words, labels))) for words, labels in zip(sentences, found)]


COMMANDS = LabellingCommands()
main = COMMANDS.main

if __name__ == "__main__":
    sys.exit(main())
