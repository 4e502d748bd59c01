"""Command line: `python -m zoo.language_modelling train | evaluate | generate | export`."""

from zoo.commands import command_line
from zoo.commands.task_commands import TaskCommands
from zoo.distribution.exiting import exit_command
from zoo.language_modelling.data import UNITS, open_documents
from zoo.language_modelling.recipes import RECIPES

_OPTIONS = "max_tokens", "temperature", "top_k", "top_p", "repetition_penalty", "stop", "seed"


class LanguageModellingCommands(TaskCommands):
    task, recipes, predict = "language_modelling", RECIPES, "generate"

    def add_corpus(self, command, prefix=""):
        group = command_line.add_corpus(command, prefix, "text file or folder", "a TSV or .csv file", "its texts")
        text = "what a document is, %(default)s by default; a paragraph is what stands between blank lines"
        group.add_argument(f"--{prefix}documents", choices=UNITS, default="file", help=text)

    def read(self, options, prefix=""):
        names = (*command_line.CORPUS, "documents")
        return command_line.with_log(open_documents(**command_line.given_arguments(options, names, prefix)))


COMMANDS = LanguageModellingCommands()
main = COMMANDS.main

if __name__ == "__main__":
    exit_command(main())
