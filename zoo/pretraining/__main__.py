"""Command line: `python -m zoo.pretraining train | evaluate | embed | export`."""

from zoo.commands import command_line
from zoo.commands.task_commands import TaskCommands
from zoo.corpora.plain_texts import open_texts
from zoo.distribution.exiting import exit_command
from zoo.pretraining.recipes import RECIPES


class PretrainingCommands(TaskCommands):
    task, recipes, predict = "pretraining", RECIPES, "embed"
    default_checkpoint = "encoder/minilm"

    def add_corpus(self, command, prefix=""):
        command_line.add_corpus(command, prefix, "file with one text per line", "a TSV or .csv file", "its texts")

    def read(self, options, prefix=""):
        return command_line.with_log(open_texts(**command_line.given_arguments(options, command_line.CORPUS, prefix)))

    def suits(self, predictor, options):
        """An encoder has no head that predicts masked tokens, but embeds texts."""
        embeds = options.run in (self.run_predict, self.run_export)
        return super().suits(predictor, options) or predictor.task == "encoder" and embeds

    def predictions(self, predictor, lines, options, progress):
        """Returns a line for each text: the numbers of its embedding, separated by tabs."""
        vectors = predictor.embed(lines)
        progress(len(lines))
        return ["\t".join(f"{number:.6f}" for number in vector) for vector in vectors]


COMMANDS = PretrainingCommands()
main = COMMANDS.main

if __name__ == "__main__":
    exit_command(main())
