"""Command line: `python -m zoo.pretraining train | evaluate | embed | export | prepare | fill`."""

from zoo.commands import command_line
from zoo.commands.preparing import add_prepare, prepared_corpus, run_prepare_texts
from zoo.commands.task_commands import TaskCommands
from zoo.config import change_recipe
from zoo.corpora.plain_texts import open_texts
from zoo.distribution.exiting import exit_command
from zoo.pretraining.recipes import OBJECTIVES, RECIPES
from zoo.text.terminal import join_lines
from zoo.training_config import DenoisingConfig


class PretrainingCommands(TaskCommands):
    task, recipes, predict = "pretraining", RECIPES, "embed"
    default_checkpoint = "encoder/minilm"

    def add_commands(self, commands):
        super().add_commands(commands)
        prepare = self.add_command(commands, "prepare", self.run_prepare, backend=False)
        self.add_corpus(prepare)
        add_prepare(prepare)
        fill = self.add_command(commands, "fill", self.run_fill)
        text = "folder or address of a model that was trained with --objective spans or infilling"
        self.add_checkpoint(fill, default=None, required=True, help=text)
        self.add_texts(fill)
        fill.add_argument("--beam-size", type=int, help="the checkpoint's by default; 1 is greedy")

    def add_corpus(self, command, prefix=""):
        command_line.add_corpus(command, prefix, "file with one text per line", "a TSV or .csv file", "its texts")

    def read(self, options, prefix=""):
        return command_line.with_log(open_texts(**command_line.given_arguments(options, command_line.CORPUS, prefix)))

    def train_data(self, options):
        return prepared_corpus(options) or self.read(options)

    def run_prepare(self, options) -> None:
        """Cleans and encodes texts, one a line, of any size, once, for training runs, on Apache Beam."""
        run_prepare_texts(options)

    def add_train(self, command):
        text = "masking trains an encoder, spans or infilling an encoder-decoder; %(default)s by default"
        command.add_argument("--objective", choices=OBJECTIVES, default="masking", help=text)

    def recipe(self, options):
        recipe = change_recipe(OBJECTIVES[options.objective][options.recipe], options.set)
        if options.objective == "masking" and recipe.training.denoising != DenoisingConfig():
            raise ValueError(
                "Settings of training.denoising are for the objectives spans and infilling. Received: --objective "
                "masking, the default. Pass --objective spans or infilling, or leave them out."
            )
        return recipe

    def suits(self, predictor, options):
        """An encoder without a head that predicts masked tokens embeds texts, too."""
        embeds = options.run in (self.run_predict, self.run_export)
        return super().suits(predictor, options) or predictor.task == "encoder" and embeds

    def load_one(self, name, options):
        """Loads a predictor that does what the command needs: encoders embed texts, encoder-decoders fill gaps."""
        predictor = super().load_one(name, options)
        needed = {self.run_predict: "embed", self.run_export: "embed", self.run_fill: "fill"}.get(options.run)
        if needed and not hasattr(predictor, needed):
            objective = "masking" if needed == "embed" else "spans or infilling"
            raise ValueError(
                f"This command needs a model of the objective {objective}. Received: {name}, a "
                f"{type(predictor).__name__}. Use another checkpoint."
            )
        return predictor

    def predictions(self, predictor, lines, options, progress):
        """Returns a line for each text: the numbers of its embedding, separated by tabs."""
        if options.run == self.run_fill:
            return map(join_lines, predictor.fill(lines, options.beam_size, progress=progress))
        vectors = predictor.embed(lines)
        progress(len(lines))
        return ["\t".join(f"{number:.6f}" for number in vector) for vector in vectors]

    def run_fill(self, options):
        """Fills the gaps of texts from standard input or files, line by line, such as "A dog <mask> in the grass."."""
        self.run_predict(options)


COMMANDS = PretrainingCommands()
main = COMMANDS.main

if __name__ == "__main__":
    exit_command(main())
