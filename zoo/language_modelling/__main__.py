"""Command line: `python -m zoo.language_modelling train | evaluate | generate | export | prepare`."""

import itertools
import json
import re
import sys

from zoo.commands import command_line
from zoo.commands.command_line import LIMITS, given_arguments, log, progress_bar
from zoo.commands.ensemble_commands import EnsembleCommands
from zoo.commands.preparing import add_prepare, prepared_corpus, run_prepare_texts
from zoo.distribution.exiting import exit_command
from zoo.extras import require
from zoo.language_modelling.data import UNITS, open_documents
from zoo.language_modelling.generation import GenerationOptions, check_seed
from zoo.language_modelling.ngrams import check_order
from zoo.language_modelling.recipes import RECIPES
from zoo.text.terminal import escape_control_characters

_OPTIONS = "max_tokens", "temperature", "top_k", "top_p", "repetition_penalty", "stop"


class LanguageModellingCommands(EnsembleCommands):
    task, recipes, predict = "language_modelling", RECIPES, "generate"
    default_checkpoint = "language/shakespeare"
    formats = ()

    def add_corpus(self, command, prefix=""):
        group = command_line.add_corpus(command, prefix, "text file or folder", "a TSV or .csv file", "its texts")
        default = "as --documents" if prefix else "file by default"
        text = f"what a document is, {default}; a paragraph is what stands between blank lines"
        group.add_argument(f"--{prefix}documents", choices=UNITS, help=text)

    def add_commands(self, commands):
        super().add_commands(commands)
        prepare = self.add_command(commands, "prepare", self.run_prepare, backend=False)
        command_line.add_corpus(prepare, "", "text file, each line a document", "a TSV or .csv file", "its text")
        add_prepare(prepare)

    def train_data(self, options):
        return prepared_corpus(options) or self.read(options)

    def run_prepare(self, options) -> None:
        """Cleans and encodes documents, one a line, of any size, once, for training runs, on Apache Beam."""
        from zoo.text.vocabularies import load_vocabulary

        if not getattr(load_vocabulary(options.vocabulary), "whole_texts", False):
            raise ValueError(
                f"--vocabulary must encode texts as they are, with all spaces. Received: {options.vocabulary}, which "
                "does not. Pass `vocabulary.model` of a language model's checkpoint."
            )
        run_prepare_texts(options)

    def read(self, options, prefix=""):
        names = (*command_line.CORPUS, "documents")
        given = given_arguments(options, ["documents"]) | given_arguments(options, names, prefix)
        return command_line.with_log(open_documents(**given))

    def together(self, predictors):
        from zoo.language_modelling.ensemble import EnsembleGenerator

        return EnsembleGenerator(predictors)

    def check(self, command, options):
        super().check(command, options)
        if command == "evaluate" and options.ngrams:
            require("A baseline of n-grams", "nltk")
            check_order(options.order)
            options.baseline = [*open_documents(options.ngrams, **given_arguments(options, ["documents"]))]
            if not options.baseline:
                raise ValueError(f"--ngrams must have training texts. Received: none in {options.ngrams}. Check it.")
        if command == "generate":
            check_seed(options.seed)

    def add_evaluate(self, command):
        text = "long texts are read in windows that begin every so many tokens, half of the context by default"
        command.add_argument("--stride", type=int, help=text)
        text = "training texts of a baseline of n-grams with Kneser-Ney smoothing, whose scores are printed, too"
        command.add_argument("--ngrams", metavar="DATA", help=text)
        command.add_argument("--order", type=int, default=5, help="longest n-gram of the baseline; %(default)s")

    def evaluation(self, predictor, options):
        with progress_bar(None, "evaluate") as advance:
            return self.module().evaluate(predictor, self.read(options), progress=advance, stride=options.stride)

    def print_details(self, predictor, evaluation, options):
        if options.ngrams:
            self._print_baseline(predictor, [*self.read(options)], options)

    def _print_baseline(self, predictor, documents, options):
        from zoo.language_modelling.ngrams import kneser_ney_loss
        from zoo.language_modelling.scoring import bits_per_character

        rows = predictor.encode_documents(documents)
        total = sum(map(len, rows))
        log(f"counting n-grams of up to {options.order} tokens")
        with progress_bar(total, "n-grams") as advance:
            size = predictor.tokenizer.vocabulary_size
            loss = kneser_ney_loss(predictor.encode_documents(options.baseline), rows, options.order, size, advance)
        bits = bits_per_character(loss * (total - len(rows)), sum(map(len, documents)))
        print(f"Kneser-Ney {options.order}-grams: nats/token {loss:.4f}, bits per character {bits:.4f}")

    def add_export(self, command):
        self._add_options(command)

    def run_export(self, options):
        """Writes a SavedModel from prompts and seeds to texts, which does not need this package."""
        chosen = self._chosen(options)
        self.load(options).export(options.output, **given_arguments(options, LIMITS), **chosen)
        log(f"written: {options.output}")

    def add_predict(self, command):
        self._add_options(command)
        command.add_argument("--seed", type=int, default=0, help="another seed gives other texts; %(default)s")
        command.add_argument("--count", type=int, default=1, help="texts for each prompt; %(default)s")

    def _chosen(self, options):
        """Returns the options of generation, and raises their errors before the model is loaded."""
        options.stop = [*map(unescape, options.stop or ())]
        chosen = given_arguments(options, _OPTIONS)
        GenerationOptions(**chosen)
        return chosen

    def _add_options(self, command):
        text = "the most tokens of a text; 200 by default, or fewer where learned positions end"
        command.add_argument("--max-tokens", type=int, help=text)
        texts = {
            "temperature": "0 for the most probable tokens, 1 for the distribution of the model",
            "top_k": "how many tokens to choose from at each step; 0 for all",
            "top_p": "share of the probability to choose from at each step",
            "repetition_penalty": "above 1, makes tokens less probable that have occurred",
        }
        for name, text in texts.items():
            option, value = f"--{name.replace('_', '-')}", getattr(GenerationOptions(), name)
            command.add_argument(option, type=type(value), default=value, help=f"{text}; %(default)s")
        text = r"text that ends a text; may be repeated; \n is a line break, \\ a backslash"
        command.add_argument("--stop", action="append", help=text)

    def run_predict(self, options):
        r"""Generates texts from prompts: standard input or files, line by line, or --text.

        In all of them, \n is a line break, and \\ a backslash.
        """
        chosen = self._chosen(options)
        if options.text == [] or options.count < 1:
            raise ValueError(f"There must be at least one text to generate. Received: count={options.count}.")
        if options.text is not None and len(options.text) == options.count == 1 and not options.files:
            self._stream(self.load(options), options.text[0], options.seed, chosen)
        else:
            super().run_predict(options)

    def _stream(self, predictor, prompt, seed, chosen):
        prompt = unescape(prompt)
        escape = escape_control_characters if sys.stdout.isatty() else str
        parts = predictor.stream(prompt, seed=seed, **chosen)
        first = next(parts, "")  # The prompt is printed after the errors that there may be, not before them.
        for part in itertools.chain([prompt, first], parts):
            print(escape(part), end="", flush=True)
        print()

    def predictions(self, predictor, lines, options, progress):
        """With several texts, prints each as a JSON object on a line of its own."""
        prompts = [unescape(line) for line in lines for _ in range(options.count)]
        first = (options.first - 1) * options.count
        texts = predictor.generate(prompts, seed=options.seed, first=first, **given_arguments(options, _OPTIONS))
        progress(len(lines))
        pairs = zip(prompts, texts)
        return [json.dumps({"prompt": prompt, "text": text}, ensure_ascii=False) for prompt, text in pairs]


def unescape(text: str) -> str:
    r"""Returns a text of the command line with a line break for each \n, and a backslash for each \\."""
    return re.sub(r"\\([n\\])", lambda found: "\n" if found[1] == "n" else "\\", text)


COMMANDS = LanguageModellingCommands()
main = COMMANDS.main

if __name__ == "__main__":
    exit_command(main())
