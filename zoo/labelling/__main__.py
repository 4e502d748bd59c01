"""Command line: `python -m zoo.labelling train | evaluate | tag | export`."""

from zoo.commands.command_line import corpus_group, with_log
from zoo.commands.task_commands import TaskCommands
from zoo.distribution.exiting import exit_command
from zoo.labelling.data import SentenceReader
from zoo.labelling.recipes import RECIPES
from zoo.text.words import split_words


class LabellingCommands(TaskCommands):
    task, recipes, predict, default_checkpoint = "labelling", RECIPES, "tag", "labelling/masc-pos"

    def add_corpus(self, command, prefix=""):
        text = "file with a word and its label per line, and an empty line after each sentence"
        group = corpus_group(command, prefix)
        group.add_argument(f"--{prefix}data", required=not prefix, help=text)
        if prefix:
            return
        text = "columns of word and label, from 0; by default the first and the last"
        group.add_argument("--columns", type=int, nargs=2, default=(0, -1), help=text)
        text = "labels that are not in the training data: %(default)s by default, or counted as wrong"
        group.add_argument("--unknown-labels", choices=["error", "wrong"], default="error", help=text)

    def read(self, options, prefix=""):
        path = options.dev_data if prefix else options.data
        return with_log(SentenceReader(path, options.columns, options.unknown_labels))

    def add_predict(self, command):
        command.add_argument("--tokenised", action="store_true", help="the words are already separated by spaces")

    def predictions(self, predictor, lines, options, progress):
        """Returns a line of word_label pairs for each sentence; words are split as in the Penn treebank.

        The default model tags the parts of speech of English with the tags of the Penn treebank, and was trained on
        the speech and the writing of MASC.
        """
        sentences = [text.split() if options.tokenised else split_words(text, treebank_quotes=False) for text in lines]
        pairs = zip(sentences, predictor.tag(sentences, progress))
        return [" ".join(map("_".join, zip(words, labels))) for words, labels in pairs]


COMMANDS = LabellingCommands()
main = COMMANDS.main

if __name__ == "__main__":
    exit_command(main())
