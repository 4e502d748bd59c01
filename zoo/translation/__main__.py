"""Command line: `python -m zoo.translation vocabulary | prepare | distill | train | evaluate | translate | export`."""

import pathlib
import sys

from zoo.commands import command_line
from zoo.commands.command_line import LIMITS, check_writable, given_arguments, log, progress_bar, with_log
from zoo.commands.ensemble_commands import EnsembleCommands
from zoo.commands.preparing import add_prepare, prepared_corpus, run_prepare
from zoo.corpora.inspection import inspect_reader
from zoo.corpora.reading import read_lines
from zoo.distribution.exiting import exit_command
from zoo.text.glossary import check_glossary, read_glossary
from zoo.text.terminal import join_lines
from zoo.translation.data import open_pairs, pair_patterns
from zoo.translation.recipes import RECIPES

_CORPUS = ("source", "target", "data", "columns", "languages", "split")
_PROTOCOL = ("tokenize", "lowercase")


class TranslationCommands(EnsembleCommands):
    task, recipes, predict, default_checkpoint = "translation", RECIPES, "translate", "translation/en-de"
    formats = "ctranslate2", "onnx", "litert"

    def add_commands(self, commands):
        vocabulary = self.add_command(commands, "vocabulary", self.run_vocabulary, backend=False)
        self.add_corpus(vocabulary)
        vocabulary.add_argument("--size", type=int, default=8000, help="number of pieces, %(default)s by default")
        text = "encode words in capitals as small letters between markers"
        vocabulary.add_argument("--case-markup", action="store_true", help=text)
        vocabulary.add_argument("--split-digits", action="store_true", help="a piece for each digit")
        vocabulary.add_argument("--output", required=True, help="file to write")

        prepare = self.add_command(commands, "prepare", self.run_prepare, backend=False)
        self.add_corpus(prepare)
        add_prepare(prepare)
        super().add_commands(commands)

        distill = self.add_command(commands, "distill", self.run_distill, resumes=True)
        self.add_checkpoint(distill)
        self.add_corpus(distill)
        distill.add_argument("--texts", help="instead of a corpus: a file of texts without translations, one a line")
        _add_search(distill)
        text = "with references: of this many translations, take that closest to the reference; %(default)s by default"
        distill.add_argument("--closest-of", type=int, default=1, metavar="N", help=text)
        distill.add_argument("--tag", default="", help="text before each source, such as <bt>; none by default")
        text = "the translations become the source: back-translation of texts in the target language"
        distill.add_argument("--reverse", action="store_true", help=text)
        distill.add_argument("--output", required=True, help="tab-separated file to write")

    def add_checkpoint(self, command):
        super().add_checkpoint(command)
        text = "tab-separated file of terms and their translations, which are always used"
        command.add_argument("--glossary", metavar="FILE", help=text)

    def load_all(self, options):
        found = super().load_all(options)
        if getattr(options, "iterations", None) is not None:
            from zoo.translation.non_autoregressive import set_iterations

            set_iterations(found, options.iterations)
        return found

    def together(self, predictors):
        from zoo.translation.ensemble import EnsembleTranslator

        return EnsembleTranslator(predictors)

    def load(self, options):
        translator = super().load(options)
        if options.glossary:
            translator.glossary = check_glossary(
                {**translator.glossary, **read_glossary(options.glossary)}, translator.placeholders
            )
        return translator

    def check(self, command, options):
        super().check(command, options)
        bleu = command == "train" and self.recipe(options).training.score == "bleu"
        if bleu or command == "evaluate" or (command == "export" and _gives_corpus(options)):
            from zoo.translation.metrics import bleu

            # sacrebleu checks its tokenizers, some of which need further packages, only when they are used.
            bleu(["a"], ["a"], getattr(options, "tokenize", None) or "13a")
        writes = command in ("vocabulary", "distill")
        check_writable(options.output if writes else getattr(options, "hypotheses", None))

    def add_corpus(self, command, prefix=""):
        group = command_line.corpus_group(command, prefix)
        group.add_argument(f"--{prefix}source", help="text file, a sentence a line, gzip or not")
        group.add_argument(f"--{prefix}target", help="its translation, line for line")
        text = "instead: a tab-separated file, tfds:NAME or, for training, a folder of the command `prepare`"
        group.add_argument(f"--{prefix}data", help=text)
        text = "source and target column, from 0; 0 1 by default"
        group.add_argument(f"--{prefix}columns", type=int, nargs=2, help=text)
        group.add_argument(f"--{prefix}languages", nargs=2, help="source and target feature of a tfds data set")
        command_line.add_split(group, prefix)

    def read(self, options, prefix=""):
        return with_log(open_pairs(**given_arguments(options, _CORPUS, prefix)))

    def train_data(self, options):
        return prepared_corpus(options) or self.read(options)

    def add_train(self, command):
        text = "tokeniser of sacrebleu, %(default)s by default; none for text tokenised already"
        command.add_argument("--tokenize", default="13a", help=text)
        command.add_argument("--lowercase", action="store_true", help="score without case")

    def card(self, options):
        return {"bleu": {name: getattr(options, name) for name in _PROTOCOL}}

    def add_evaluate(self, command):
        _add_search(command)
        command.add_argument("--tokenize", help="sacrebleu's tokeniser; the card's by default")
        command.add_argument("--lowercase", action="store_true", default=None, help="score without case")
        command.add_argument("--hypotheses", help="file for the translations")

    def add_predict(self, command):
        _add_search(command)
        text = "at most this many different translations of each line, with scores if above 1; %(default)s by default"
        command.add_argument("--n-best", type=int, default=1, help=text)
        command.add_argument("--alignments", action="store_true", help="add pairs of word numbers, source-target")

    def add_export(self, command):
        _add_search(command)
        self.add_corpus(command)
        command.add_argument("--n-best", type=int, default=1, help="translations of each text, %(default)s by default")
        text = "tokens by which a translation may be longer than its segment; the checkpoint's by default"
        command.add_argument("--max-extra-tokens", type=int, help=text)
        command.add_argument("--alignments", action="store_true", help="word alignments as well")
        text = "numbers of sentences in a call, such as 1 8, for which XLA compiles the search"
        command.add_argument("--compile", type=int, nargs="+", default=[], metavar="N", help=text)
        command.add_argument("--ids-only", action="store_true", help="token ids in and out, without tensorflow-text")

    def run_vocabulary(self, options) -> None:
        """Learns a joint vocabulary from a parallel corpus."""
        from zoo.text.tokenizer_training import train_tokenizer

        pairs = self.read(options)
        texts = (text for pair in pairs for text in pair)
        kinds = {"case_markup": options.case_markup, "split_digits": options.split_digits}
        tokenizer = train_tokenizer(texts, options.size, **kinds)
        inspect_reader(pairs, "corpus")
        tokenizer.save(options.output)
        print(f"{pairs.report}\n{tokenizer.vocabulary_size} pieces in {options.output}", file=sys.stderr)

    def run_prepare(self, options) -> None:
        """Cleans and encodes a parallel corpus of any size, once, for training runs, on Apache Beam."""
        patterns, corpus = pair_patterns(**given_arguments(options, _CORPUS))
        run_prepare(options, patterns, ("source", "target"), **corpus)

    def run_distill(self, options) -> None:
        """Translates a corpus to train another model on: distillation, forward- and back-translation."""
        from zoo.translation.distillation import distill

        if bool(options.texts) == bool(_gives_corpus(options)):
            raise ValueError("`distill` needs either a corpus or --texts. Pass one of both.")
        if options.texts and options.closest_of > 1:
            raise ValueError(
                "--closest-of compares with references, which --texts does not have. Leave out one of both."
            )
        examples = ((line, None) for line in read_lines(options.texts)) if options.texts else self.read(options)
        with progress_bar(None, "translate") as advance:
            names = "closest_of", "tag", "reverse", "beam_size", "length_penalty"
            given = {name: getattr(options, name) for name in names}
            count = distill(self.load(options), examples, options.output, progress=advance, **given)
        log(f"{count:,} pairs in {options.output}")

    def evaluation(self, predictor, options):
        reader = self.read(options)
        pairs = [*reader]
        inspect_reader(reader, "corpus")
        protocol = {name: getattr(options, name) for name in _PROTOCOL if getattr(options, name) is not None}
        with progress_bar(len(pairs), "translate") as advance:
            return self.module().evaluate(
                predictor,
                pairs,
                progress=advance,
                beam_size=options.beam_size,
                length_penalty=options.length_penalty,
                **protocol,
            )

    def print_details(self, predictor, evaluation, options):
        if options.hypotheses:
            pathlib.Path(options.hypotheses).write_text(
                "".join(f"{join_lines(text)}\n" for text in evaluation.predicted), "utf-8"
            )

    def predictions(self, predictor, lines, options, progress):
        """Returns the best translations of each line; several ones with their scores, separated by tabs."""
        beam_size = options.beam_size and max(options.beam_size, options.n_best)
        found = predictor.n_best(lines, options.n_best, beam_size, options.length_penalty, progress)
        for text, candidates in zip(lines, found):
            for candidate in candidates:
                columns = [join_lines(candidate.text)]
                if options.n_best > 1:
                    columns.insert(0, f"{candidate.score:.4f}")
                if options.alignments:
                    links = predictor.align([text], [candidate.text])[0].links
                    columns.append(" ".join(f"{source}-{target}" for source, target in links))
                yield "\t".join(columns)

    def export(self, predictor, options):
        """Writes a SavedModel that takes and returns texts, and with a corpus prints its scores."""
        card = predictor.export(
            options.output,
            beam_size=options.beam_size,
            length_penalty=options.length_penalty,
            num_return=options.n_best,
            max_extra_tokens=options.max_extra_tokens,
            alignments=options.alignments,
            text=not options.ids_only,
            compiled_for=options.compile,
            pairs=[*self.read(options)] if _gives_corpus(options) else (),
            **given_arguments(options, LIMITS),
        )
        for score in card["exported_scores"]:
            print("{metric} {value:.2f} ± {interval:.2f}  {signature}".format(**score))


def _gives_corpus(options):
    return options.data or options.source or options.target


def _add_search(command):
    command.add_argument("--beam-size", type=int, help="1 is greedy; the checkpoint's by default")
    command.add_argument("--length-penalty", type=float, help="alpha of GNMT's; the checkpoint's by default")
    command.add_argument("--iterations", type=int, help="of a non-autoregressive model; the checkpoint's by default")


COMMANDS = TranslationCommands()
main = COMMANDS.main

if __name__ == "__main__":
    exit_command(main())
